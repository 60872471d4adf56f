//! What workflow code sees, one durable primitive per file; `poll.rs` drives a future against the engine.
//! It knows no async runtime and no provider.

mod activity_call;
mod branch;
mod child;
mod context;
mod continue_as_new;
mod definition;
mod entry;
mod errors;
mod future;
mod join;
mod map_concurrent;
mod poll;
mod run;
mod select;
mod spawn;
mod timeout;
mod timer;
mod try_join;
mod wait_until;

pub use self::activity_call::{ActivityCall, ActivityFuture};
pub use self::branch::{Branch, BranchScope};
pub use self::child::ChildCall;
pub use self::context::{Shield, TimerTooLong, WorkflowContext};
pub use self::continue_as_new::ContinueAsNew;
pub use self::definition::{LocalBoxFuture, Workflow};
pub use self::entry::{Start, WorkflowEntry, entry_of};
pub use self::errors::{ActivityError, ActivityErrorKind, Cancelled, WorkflowError};
pub use self::future::{Block, Durable, DurableFuture, block, check, durable};
pub use self::join::{Held, Join, JoinAll, Tuple, join, join_all};
pub use self::map_concurrent::{MapConcurrent, map_concurrent};
pub use self::poll::{LiveRun, NextRun, RunIdentity, RunOptions, TaskFailure, TurnOutput};
pub use self::select::{Polled, Select, nothing_to_select, poll_branch, select};
pub use self::spawn::TaskHandle;
pub use self::timeout::{Timeout, TimeoutError};
pub use self::timer::Sleep;
pub use self::try_join::{TryJoin, TryJoinAll, TryTuple, try_join, try_join_all};
pub use self::wait_until::WaitUntil;
