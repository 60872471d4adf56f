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
    TaskHandle, TimeoutError, TimerTooLong, Workflow, WorkflowContext, WorkflowError, join_all,
    map_concurrent, try_join_all,
};
pub use durable_core::{history, id, limits, provider, replay};
pub use durable_macros::{activity, helper, select, workflow};

/// The examples of the guide are compiled.
#[cfg(doctest)]
#[doc = include_str!("../docs/replay.md")]
struct ReplayGuide;

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
        let mut scope = $crate::__private::BranchScope::open("join");
        $crate::__private::join(($(
            $crate::__private::Held::from({
                let branch = scope.branch();
                branch.wrap($future)
            }),
        )+)).await
    }};
}

/// Waits for up to eight durable futures that return `Result`s with one error type; gives the tuple of their values, or
/// the first error.
///
/// Which error is the first is decided by the order of results in history, ties by source order. Then the other branches
/// are dropped, in source order, which cancels what they have begun. Each branch has a key scope of its own. The `.await`
/// is inside the macro.
///
/// ```
/// # use durable::prelude::*;
/// # #[activity] async fn ship(_ctx: &ActivityContext, order: u32) -> Result<u32, String> { Ok(order) }
/// # #[activity] async fn mail(_ctx: &ActivityContext, order: u32) -> Result<u32, String> { Ok(order) }
/// #[workflow]
/// async fn dispatch(ctx: &WorkflowContext, order: u32) -> Result<u32, WorkflowError> {
///     let (parcel, mailed) = durable::try_join!(ship(ctx, order), mail(ctx, order))?;
///     Ok(parcel + mailed)
/// }
/// ```
#[macro_export]
macro_rules! try_join {
    ($($future:expr),+ $(,)?) => {{
        let mut scope = $crate::__private::BranchScope::open("try_join");
        $crate::__private::try_join(($(
            $crate::__private::Held::from({
                let branch = scope.branch();
                branch.wrap($future)
            }),
        )+)).await
    }};
}

/// Demands in a test that recorded runs still fit the code: exported JSON files, and the workflows that they may be of.
///
/// The path is relative to the package's folder; in its last part `*` stands for any text. Replay is strict: another input
/// of an activity, duration of a timer, result or error fails too. A pattern that no file matches fails.
///
/// ```no_run
/// # use durable::prelude::*;
/// # #[workflow] async fn checkout(_ctx: &WorkflowContext) -> Result<(), WorkflowError> { Ok(()) }
/// # #[workflow] async fn refund(_ctx: &WorkflowContext) -> Result<(), WorkflowError> { Ok(()) }
/// #[test]
/// fn recorded_runs_still_fit() {
///     durable::assert_replays!("tests/histories/*.json", [checkout, refund]);
/// }
/// ```
#[macro_export]
macro_rules! assert_replays {
    ($pattern:expr, [$($workflow:path),+ $(,)?]) => {
        $crate::replay::assert_files(
            &$crate::replay::Replayer::new().strict()$(.workflow::<$workflow>())+,
            env!("CARGO_MANIFEST_DIR"),
            $pattern,
        )
    };
}
