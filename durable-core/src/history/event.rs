//! The events of a history. Kinds carry Temporal's names, as the seed does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::{Failure, TimeoutKind};
use crate::id::{BuildId, CommandId, CommandKey, EventId, IdSeed, QueueName, RunId, WorkflowId};
use crate::limits::START_TO_CLOSE_DEFAULT;
use crate::payload::{DataError, Payload};
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// One recorded fact of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the history: 1, 2, 3 …
    pub id: EventId,
    /// When it was recorded, by the database's clock as the owner knew it.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
}

/// Options of a run, recorded when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOptions {
    /// The task queue of the run.
    pub queue: QueueName,
    /// 0 (first) to 9.
    pub priority: u8,
}

impl Default for StartOptions {
    fn default() -> Self {
        Self { queue: QueueName::default_queue(), priority: 5 }
    }
}

/// Limits and retry of an activity, recorded when it is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActivityOptions {
    /// Limit of one attempt, in microseconds.
    pub start_to_close_us: u64,
    /// Limit of all attempts with the waiting between them, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_to_close_us: Option<u64>,
    /// When a failed attempt is made again.
    pub retry: RetryPolicy,
}

impl ActivityOptions {
    /// Limit of one attempt.
    pub fn start_to_close(&self) -> Duration {
        Duration::from_micros(self.start_to_close_us)
    }

    /// Limit of all attempts together.
    pub fn schedule_to_close(&self) -> Option<Duration> {
        self.schedule_to_close_us.map(Duration::from_micros)
    }

    /// The same options with another limit of one attempt.
    #[must_use]
    pub fn with_start_to_close(mut self, limit: Duration) -> Self {
        self.start_to_close_us = whole_micros(limit);
        self
    }

    /// The same options with a limit of all attempts together.
    #[must_use]
    pub fn with_schedule_to_close(mut self, limit: Duration) -> Self {
        self.schedule_to_close_us = Some(whole_micros(limit));
        self
    }

    /// The same options with another retry policy.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }
}

fn whole_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Default for ActivityOptions {
    fn default() -> Self {
        Self {
            start_to_close_us: whole_micros(START_TO_CLOSE_DEFAULT),
            schedule_to_close_us: None,
            retry: RetryPolicy::default(),
        }
    }
}

/// Where an activity runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Placement {
    /// In the worker that owns the run, without a row until its first failure.
    Local,
    /// As a row that any worker may claim.
    Queued,
}

/// What a `MarkerRecorded` event holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Marker {
    /// The value of a side effect that ran once.
    SideEffect {
        /// Its name, compared on replay.
        name: String,
        /// Its structural key.
        key: CommandKey,
        /// What the closure returned, as the code saw it: its value, or why it was refused.
        value: Result<Payload, DataError>,
    },
    /// By which version of a change the run goes.
    Version {
        /// The name of the change.
        change_id: String,
        /// The version.
        version: u32,
        /// The call was about to be removed from the code: replay may find the marker left over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        deprecated: bool,
    },
}

/// What an event is without its payloads and texts: id, time, kind, numbers.
const EVENT_BYTES: usize = 100;
/// What options of a run or an activity are.
const OPTIONS_BYTES: usize = 250;

/// What happened. Unknown fields are ignored on reading; an unknown kind is a typed error that names the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields repeat the words of the glossary")]
pub enum EventKind {
    /// The run began. Always event 1.
    WorkflowExecutionStarted {
        workflow_id: WorkflowId,
        workflow_type: String,
        run_number: u32,
        seed: IdSeed,
        input: Payload,
        options: StartOptions,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continued_from: Option<RunId>,
    },
    /// Accepted and ignored: other tools write it.
    WorkflowTaskScheduled {},
    /// A turn began: everything recorded before it was delivered to it, one at a time.
    WorkflowTaskStarted {
        /// Events of the history, this one included.
        events: u64,
        /// About how many bytes they are.
        #[serde(default)]
        bytes: u64,
        /// The history was long enough to suggest that the workflow continue in a new run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        suggests_continue: bool,
    },
    /// The turn ended; the command events that follow are what it asked for.
    WorkflowTaskCompleted {
        started: EventId,
        build: BuildId,
    },
    /// Command: run an activity.
    ActivityTaskScheduled {
        id: CommandId,
        key: CommandKey,
        activity_type: String,
        input: Payload,
        input_hash: u64,
        placement: Placement,
        options: ActivityOptions,
        location: String,
    },
    /// Accepted and ignored by the engine.
    ActivityTaskStarted {
        id: CommandId,
        attempt: u32,
    },
    ActivityTaskCompleted {
        id: CommandId,
        attempt: u32,
        result: Payload,
    },
    ActivityTaskFailed {
        id: CommandId,
        attempt: u32,
        failure: Failure,
    },
    ActivityTaskTimedOut {
        id: CommandId,
        attempt: u32,
        timeout: TimeoutKind,
        failure: Failure,
    },
    /// Command: stop waiting for an activity and tell it so.
    ActivityTaskCancelRequested {
        id: CommandId,
    },
    ActivityTaskCanceled {
        id: CommandId,
    },
    /// Command: wake the run at `fire_at`.
    TimerStarted {
        id: CommandId,
        key: CommandKey,
        duration_us: u64,
        fire_at: Timestamp,
        location: String,
    },
    TimerFired {
        id: CommandId,
    },
    /// Command: the run no longer waits for the timer.
    TimerCanceled {
        id: CommandId,
    },
    /// Command: a value to remember.
    MarkerRecorded {
        marker: Marker,
    },
    WorkflowExecutionCancelRequested {
        reason: String,
    },
    /// Command, last event: the workflow returned `Ok`.
    WorkflowExecutionCompleted {
        result: Payload,
        result_hash: u64,
    },
    /// Command, last event: the workflow returned `Err`.
    WorkflowExecutionFailed {
        failure: Failure,
    },
    /// Command, last event: the workflow returned `Err` after a cancel request.
    WorkflowExecutionCanceled {
        failure: Failure,
    },
    /// Command, last event: the workflow goes on in a new run, with these arguments and nothing else of this one.
    WorkflowExecutionContinuedAsNew {
        new_run_id: RunId,
        input: Payload,
        input_hash: u64,
    },
}

impl EventKind {
    /// The kind's name, as documents and messages write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WorkflowExecutionStarted { .. } => "WorkflowExecutionStarted",
            Self::WorkflowTaskScheduled {} => "WorkflowTaskScheduled",
            Self::WorkflowTaskStarted { .. } => "WorkflowTaskStarted",
            Self::WorkflowTaskCompleted { .. } => "WorkflowTaskCompleted",
            Self::ActivityTaskScheduled { .. } => "ActivityTaskScheduled",
            Self::ActivityTaskStarted { .. } => "ActivityTaskStarted",
            Self::ActivityTaskCompleted { .. } => "ActivityTaskCompleted",
            Self::ActivityTaskFailed { .. } => "ActivityTaskFailed",
            Self::ActivityTaskTimedOut { .. } => "ActivityTaskTimedOut",
            Self::ActivityTaskCancelRequested { .. } => "ActivityTaskCancelRequested",
            Self::ActivityTaskCanceled { .. } => "ActivityTaskCanceled",
            Self::TimerStarted { .. } => "TimerStarted",
            Self::TimerFired { .. } => "TimerFired",
            Self::TimerCanceled { .. } => "TimerCanceled",
            Self::MarkerRecorded { .. } => "MarkerRecorded",
            Self::WorkflowExecutionCancelRequested { .. } => "WorkflowExecutionCancelRequested",
            Self::WorkflowExecutionCompleted { .. } => "WorkflowExecutionCompleted",
            Self::WorkflowExecutionFailed { .. } => "WorkflowExecutionFailed",
            Self::WorkflowExecutionCanceled { .. } => "WorkflowExecutionCanceled",
            Self::WorkflowExecutionContinuedAsNew { .. } => "WorkflowExecutionContinuedAsNew",
        }
    }

    /// The activity that the event gives an outcome to.
    pub fn settled_activity(&self) -> Option<CommandId> {
        match self {
            Self::ActivityTaskCompleted { id, .. }
            | Self::ActivityTaskFailed { id, .. }
            | Self::ActivityTaskTimedOut { id, .. }
            | Self::ActivityTaskCanceled { id } => Some(*id),
            _ => None,
        }
    }

    /// Whether the event records what workflow code asked for.
    pub fn is_command(&self) -> bool {
        matches!(
            self,
            Self::ActivityTaskScheduled { .. }
                | Self::ActivityTaskCancelRequested { .. }
                | Self::TimerStarted { .. }
                | Self::TimerCanceled { .. }
                | Self::MarkerRecorded { .. }
        ) || self.is_terminal()
    }

    /// Whether the event ends the run.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::WorkflowExecutionCompleted { .. }
                | Self::WorkflowExecutionFailed { .. }
                | Self::WorkflowExecutionCanceled { .. }
                | Self::WorkflowExecutionContinuedAsNew { .. }
        )
    }

    /// About how many bytes the event is in storage: its payloads and texts, and some for the rest.
    pub fn approximate_bytes(&self) -> u64 {
        let variable = match self {
            Self::WorkflowExecutionStarted { input, workflow_type, workflow_id, .. } => {
                input.bytes.len() + workflow_type.len() + workflow_id.as_str().len() + OPTIONS_BYTES
            }
            Self::ActivityTaskScheduled { input, activity_type, key, location, .. } => {
                input.bytes.len() + activity_type.len() + key.0.len() + location.len() + OPTIONS_BYTES
            }
            Self::ActivityTaskCompleted { result, .. }
            | Self::WorkflowExecutionCompleted { result, .. }
            | Self::WorkflowExecutionContinuedAsNew { input: result, .. } => result.bytes.len(),
            Self::ActivityTaskFailed { failure, .. }
            | Self::ActivityTaskTimedOut { failure, .. }
            | Self::WorkflowExecutionFailed { failure }
            | Self::WorkflowExecutionCanceled { failure } => failure.approximate_bytes(),
            Self::TimerStarted { key, location, .. } => key.0.len() + location.len(),
            Self::MarkerRecorded { marker: Marker::SideEffect { name, key, value } } => {
                name.len() + key.0.len() + value.as_ref().map_or(0, |value| value.bytes.len())
            }
            Self::MarkerRecorded { marker: Marker::Version { change_id, .. } } => change_id.len(),
            Self::WorkflowExecutionCancelRequested { reason } => reason.len(),
            _ => 0,
        };
        (variable + EVENT_BYTES) as u64
    }
}
