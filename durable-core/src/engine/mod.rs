//! The replay state machine: events in, commands out.
//!
//! Pure: no async, no clock, no randomness, no tokio, no serde of user types. What the machine owns: the
//! order of events and commands, ids, keys, scopes, and whether code still fits its history. What its
//! host owns (`workflow::poll`): futures, wakers, decoding, and the decision to commit.

mod command;
mod deliver;
mod diagnosis;
mod drift;
mod fault;
mod matching;
mod scope;
mod state;
mod turns;
mod version;

pub use self::command::{
    ActivityRequest, CancelReach, CommandState, OpenActivity, OpenTimer, Outcome, WaitState,
};
pub use self::deliver::{Begin, Delivery};
pub use self::fault::{Fault, Halted};
pub use self::scope::ScopeId;
pub use self::state::{Engine, Strictness, TurnStart};
pub use self::turns::{PastTurn, Tail, TurnSplitter};
pub use self::version::VersionRequest;
