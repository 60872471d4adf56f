//! The status of an instance: a number in storage, the same on every backend.

use std::fmt;

/// Where an instance stands. The transition table is in ARCHITECTURE.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(i16)]
pub enum Status {
    /// A worker may claim it.
    Runnable = 0,
    /// A worker owns it under a lease.
    Executing = 1,
    /// Nothing to do until a message or a timer.
    Waiting = 2,
    /// Its workflow task keeps failing with a stored reason; tried again with back-off.
    Blocked = 3,
    /// Given up after too many claims without progress; keeps its id and messages.
    DeadLettered = 4,
    /// The workflow returned `Ok`.
    Completed = 10,
    /// The workflow returned `Err`.
    Failed = 11,
    /// The workflow ended in `Err` after a cancel request.
    Canceled = 12,
    /// Ended by a client.
    Terminated = 13,
    /// Ended by a run timeout.
    TimedOut = 14,
    /// Of a run, never of an instance: the workflow went on in a new run.
    ContinuedAsNew = 15,
}

impl Status {
    /// All of them, in order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Runnable,
        Self::Executing,
        Self::Waiting,
        Self::Blocked,
        Self::DeadLettered,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Terminated,
        Self::TimedOut,
        Self::ContinuedAsNew,
    ];

    /// The number that storage holds.
    pub fn code(self) -> i16 {
        self as i16
    }

    /// The status with this number.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    /// Whether the instance still holds its workflow id.
    pub fn is_open(self) -> bool {
        self < Self::Completed
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runnable => "runnable",
            Self::Executing => "executing",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::DeadLettered => "dead-lettered",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Terminated => "terminated",
            Self::TimedOut => "timed out",
            Self::ContinuedAsNew => "continued as new",
        })
    }
}
