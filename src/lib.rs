//! Durable execution as a library: annotate ordinary `async` fns with [`macro@workflow`] and
//! [`macro@activity`], and they become replayable state machines whose awaits are checked by the compiler.
//!
//! ```
//! use durable::prelude::*;
//!
//! #[activity(start_to_close = "10s", retry(max_attempts = 5, initial = "200ms"))]
//! async fn charge_card(_ctx: &ActivityContext, order: u32, cents: u64) -> Result<String, String> {
//!     Ok(format!("charge of {cents} for order {order}"))
//! }
//!
//! #[workflow]
//! async fn checkout(ctx: &WorkflowContext, order: u32) -> Result<String, WorkflowError> {
//!     let charge = charge_card(ctx, order, 1999).await?;
//!     ctx.sleep(std::time::Duration::from_secs(3600)).await?;
//!     Ok(charge)
//! }
//! ```

mod connect;

pub use self::connect::{ConnectError, Durable};
pub use durable_core::activity::{Activity, ActivityContext, ActivityContextParts, StateMap};
pub use durable_core::client::{Client, ClientError, RunError, StartCall, WorkflowHandle};
pub use durable_core::history::TimeoutKind;
pub use durable_core::payload::{DataError, DurableData};
pub use durable_core::provider::{IdPolicy, InstanceView, SendOutcome, Status};
pub use durable_core::retry::{InvalidRetryPolicy, RetryAdvice, RetryPolicy};
pub use durable_core::runtime::{StartError, Worker, WorkerBuilder};
pub use durable_core::time::Timestamp;
pub use durable_core::workflow::{
    ActivityCall, ActivityError, ActivityErrorKind, Cancelled, ChildCall, ContinueAsNew, DurableFuture,
    TaskHandle, TimerTooLong, Workflow, WorkflowContext, WorkflowError, join_all,
};
pub use durable_core::{history, id, limits, provider};
pub use durable_macros::{activity, helper, workflow};

/// What an application usually imports.
pub mod prelude {
    pub use crate::{
        Activity, ActivityContext, ActivityError, ActivityErrorKind, Cancelled, Durable, DurableFuture,
        RetryAdvice, RetryPolicy, RunError, Workflow, WorkflowContext, WorkflowError, WorkflowHandle,
        activity, workflow,
    };
}

#[doc(hidden)]
pub mod __private {
    pub use durable_core::private::*;
}

/// Waits for up to eight durable futures at once; gives the tuple of their values.
///
/// Each branch has a key scope of its own, so a command added in one branch changes no key of another.
/// The `.await` is inside the macro.
///
/// ```
/// # use durable::prelude::*;
/// # #[activity] async fn ship(_ctx: &ActivityContext, order: u32) -> Result<u32, String> { Ok(order) }
/// # #[activity] async fn mail(_ctx: &ActivityContext, order: u32) -> Result<u32, String> { Ok(order) }
/// #[workflow]
/// async fn dispatch(ctx: &WorkflowContext, order: u32) -> Result<u32, WorkflowError> {
///     let (parcel, mailed) = durable::join!(ship(ctx, order), mail(ctx, order));
///     Ok(parcel? + mailed?)
/// }
/// ```
#[macro_export]
macro_rules! join {
    ($($future:expr),+ $(,)?) => {{
        let mut scope = $crate::__private::JoinScope::open();
        $crate::__private::join(($(
            $crate::__private::Held::from({
                let branch = scope.branch();
                branch.wrap($future)
            }),
        )+)).await
    }};
}
