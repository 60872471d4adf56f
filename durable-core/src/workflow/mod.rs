//! What workflow code sees, one durable primitive per file; `poll.rs` drives a future against the engine.
//! It knows no async runtime and no provider.

mod activity_call;
mod child;
mod context;
mod continue_as_new;
mod definition;
mod entry;
mod errors;
mod future;
mod join;
mod poll;
mod run;
mod spawn;
mod timer;

pub use self::activity_call::{ActivityCall, ActivityFuture};
pub use self::child::ChildCall;
pub use self::context::{Shield, TimerTooLong, WorkflowContext};
pub use self::continue_as_new::ContinueAsNew;
pub use self::definition::{LocalBoxFuture, Workflow};
pub use self::entry::{Start, WorkflowEntry, entry_of};
pub use self::errors::{ActivityError, ActivityErrorKind, Cancelled, WorkflowError};
pub use self::future::{Block, Durable, DurableFuture, block, check, durable};
pub use self::join::{Branch, Held, Join, JoinAll, JoinScope, Tuple, join, join_all};
pub use self::poll::{LiveRun, NextRun, RunIdentity, TaskFailure, TurnOutput};
pub use self::spawn::TaskHandle;
pub use self::timer::Sleep;
