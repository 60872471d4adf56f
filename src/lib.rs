//! Durable execution as a library.

mod mock;
pub use crate::mock::{
    Activity, ActivityCall, ActivityContext, ChildCall, DurableFuture, Workflow, WorkflowContext,
};
pub use durable_core::payload::DurableData;
pub use durable_core::retry::RetryAdvice;
pub use durable_macros::{activity, helper, workflow};

#[doc(hidden)]
pub mod __private {
    pub use crate::mock::*;
    pub use durable_core::private::*;
}
