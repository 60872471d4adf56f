//! Commands that the run waits for, and what is known of them.

use std::time::Duration;

use crate::history::{ActivityOptions, EventKind, Failure, Placement};
use crate::id::{CommandId, CommandKey};
use crate::payload::Payload;
use crate::time::Timestamp;

/// Whether a cancel request of the run reaches a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReach {
    /// It ends the wait.
    Reached,
    /// The wait is clean-up under a shield: it goes on.
    Shielded,
}

/// What workflow code asks for when it first polls an activity call.
#[derive(Debug, Clone)]
pub struct ActivityRequest {
    /// Whether a cancel request reaches it.
    pub reach: CancelReach,
    /// The key minted when the call was built.
    pub key: CommandKey,
    /// Registered name.
    pub activity_type: String,
    /// Encoded input.
    pub input: Payload,
    /// Limits and retry.
    pub options: ActivityOptions,
    /// `file:line` of the call; for messages, never compared.
    pub location: String,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The activity returned `Ok`.
    Completed(Payload),
    /// The activity failed, timed out, was lost or cancelled.
    Failed(Failure),
    /// The timer fired.
    Fired,
    /// The wait was cancelled.
    Cancelled,
}

/// Answer to "is it there yet".
#[derive(Debug, Clone, PartialEq)]
pub enum WaitState {
    /// Not yet.
    Pending,
    /// Ended; the outcome is handed over once.
    Done(Outcome),
}

/// A command that the run has issued and not yet taken the outcome of.
#[derive(Debug, Clone)]
pub enum CommandState {
    /// Waiting for its outcome.
    Pending {
        /// Whether a cancel request of the run ends it.
        reach: CancelReach,
        /// Activity or timer.
        kind: PendingKind,
    },
    /// Ended, not yet taken by the code.
    Done(Outcome),
}

/// What a pending command waits for.
#[derive(Debug, Clone)]
pub enum PendingKind {
    /// An activity.
    Activity(Box<OpenActivity>),
    /// A timer.
    Timer(OpenTimer),
}

/// An activity without outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenActivity {
    /// Its command id.
    pub id: CommandId,
    /// Its key: the idempotency key derives from it.
    pub key: CommandKey,
    /// Registered name.
    pub activity_type: String,
    /// Encoded input.
    pub input: Payload,
    /// Limits and retry.
    pub options: ActivityOptions,
    /// Where it runs.
    pub placement: Placement,
    /// When it was scheduled.
    pub scheduled_at: Timestamp,
}

impl OpenActivity {
    /// What a recorded `ActivityTaskScheduled` asks for: an attempt that is made again uses what was
    /// recorded, not what today's code would send.
    pub fn recorded(event: &EventKind, at: Timestamp) -> Option<Self> {
        match event {
            EventKind::ActivityTaskScheduled {
                id, key, activity_type, input, placement, options, ..
            } => Some(Self {
                id: *id,
                key: key.clone(),
                activity_type: activity_type.clone(),
                input: input.clone(),
                options: *options,
                placement: *placement,
                scheduled_at: at,
            }),
            _ => None,
        }
    }

    /// The point past which it has timed out as a whole.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.options.schedule_to_close().map(|limit| self.scheduled_at.plus(limit))
    }
}

/// A timer that has not fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTimer {
    /// Its command id.
    pub id: CommandId,
    /// When it fires.
    pub fire_at: Timestamp,
}

pub(super) fn duration_us(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
