//! Why a workflow task failed. A fault is sticky: after it every call answers the same.

use crate::id::EventId;

/// What went wrong in a workflow task. The run is not ended by it: it is blocked with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The code no longer fits the recorded history.
    #[error("{0}")]
    Nondeterminism(String),
    /// An event that cannot have happened in this place.
    #[error("event {event} cannot be replayed: {reason}")]
    Corrupt {
        /// The event.
        event: EventId,
        /// What is wrong with it.
        reason: String,
    },
    /// A recorded value does not fit the type that the code expects.
    #[error("{0}")]
    Undecodable(String),
    /// The code asked for something that no run can have.
    #[error("{0}; fix the code and deploy it, the run goes on by itself")]
    Refused(String),
    /// The history is over its limit.
    #[error(
        "the history has {events} events, the limit is {limit}: no further command is recorded, and everything so far is kept; \
         let the workflow continue in a new run before that (`ctx.continue_as_new`, once \
         `ctx.continue_as_new_suggested()` says so), or raise the limit (`worker().max_events(..)`)"
    )]
    HistoryFull {
        /// Events so far.
        events: u64,
        /// The limit.
        limit: u64,
    },
}

/// The engine refused a command because the task has failed; the code that asked must stop running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halted;
