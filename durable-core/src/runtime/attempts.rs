//! One attempt of an activity: limits, panics, cancellation, and what follows from how it ended.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use crate::activity::{ActivityContext, ActivityContextParts, AttemptError};
use crate::engine::OpenActivity;
use crate::history::{ActivityOptions, EventKind, Failure, FailureKind, TimeoutKind};
use crate::id::{CommandId, IdSeed, RunId, WorkflowId};
use crate::panics::panic_text;
use crate::payload::{Payload, derive};
use crate::time::Timestamp;

/// What is stored in a durable activity row and needed for every attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) key: String,
    pub(super) input: Payload,
    pub(super) options: ActivityOptions,
    pub(super) idempotency_key: String,
    /// What the jitter of delays is drawn from.
    pub(super) jitter: u64,
}

impl Task {
    pub(super) fn of(activity: &OpenActivity, seed: IdSeed) -> Self {
        let bytes = derive(seed, &format!("idempotency/{}", activity.key));
        let (key, rest) = bytes.split_at(16);
        // The key is shown to services; the jitter comes from bytes that are not.
        let jitter = rest[..8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        Self {
            key: activity.key.0.clone(),
            input: activity.input.clone(),
            options: activity.options,
            idempotency_key: hex(key),
            jitter,
        }
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// One attempt to be made.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) workflow_id: WorkflowId,
    pub(super) run_id: RunId,
    pub(super) command: CommandId,
    pub(super) activity_type: String,
    pub(super) task: Task,
    /// 1 is the first.
    pub(super) number: u32,
    pub(super) deadline: Option<Timestamp>,
    pub(super) cancel: CancellationToken,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    Completed(Payload),
    /// With the delay that the error asks for.
    Failed(Failure, Option<Duration>),
    TimedOut(TimeoutKind, Failure),
    /// Aborted by this worker: nobody waits for it, or the worker ends.
    Aborted,
}

/// What follows from it.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The activity has ended.
    Ended(EventKind),
    /// Again, after a delay.
    Retry { delay: Duration, failure: Failure },
    /// Nothing: nobody waits.
    Nothing,
}

/// Runs user code under its limits. A panic is a failure like any other.
pub(super) async fn make(shared: &Shared, attempt: Attempt) -> AttemptEnd {
    let Some(entry) = shared.registry.activity(&attempt.activity_type) else {
        return AttemptEnd::Aborted;
    };
    let now = shared.database_now();
    let whole = attempt.deadline.map(|deadline| deadline.since(now));
    if whole.is_some_and(|left| left.is_zero()) {
        return schedule_to_close();
    }
    let one = attempt.task.options.start_to_close();
    let limit = whole.map_or(one, |left| left.min(one));
    let context = ActivityContext::new(ActivityContextParts {
        workflow_id: attempt.workflow_id,
        run_id: attempt.run_id,
        command: attempt.command,
        idempotency_key: attempt.task.idempotency_key,
        attempt: attempt.number,
        state: Arc::clone(&shared.state),
        cancel: attempt.cancel.clone(),
    });
    let entry = entry.clone();
    let input = attempt.task.input;
    // The call itself is user code too, so it runs inside the task.
    let mut code = shared.tasks.spawn(async move { entry.run(context, input).await });
    tokio::select! {
        biased;
        joined = &mut code => ended(joined),
        () = shared.sleep(limit) => {
            attempt.cancel.cancel();
            code.abort();
            if whole.is_some_and(|left| left <= one) {
                return schedule_to_close();
            }
            let text = format!("one attempt took longer than its limit of {one:?} (start_to_close)");
            let failure = Failure::new(FailureKind::TimedOut(TimeoutKind::StartToClose), text);
            AttemptEnd::TimedOut(TimeoutKind::StartToClose, failure)
        }
        () = shared.aborting.cancelled() => {
            attempt.cancel.cancel();
            code.abort();
            AttemptEnd::Aborted
        }
    }
}

type Joined = Result<Result<Payload, AttemptError>, tokio::task::JoinError>;

fn ended(joined: Joined) -> AttemptEnd {
    match joined {
        Ok(Ok(result)) => AttemptEnd::Completed(result),
        Ok(Err(error)) => AttemptEnd::Failed(error.failure, error.retry_after),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => {
                let text = format!("the activity panicked: {}", panic_text(panic.as_ref()));
                AttemptEnd::Failed(Failure::new(FailureKind::Panicked, text), None)
            }
            Err(_) => AttemptEnd::Aborted,
        },
    }
}

/// The end of an activity whose attempts together took too long.
pub(super) fn schedule_to_close() -> AttemptEnd {
    let text = "all attempts together took longer than their limit (schedule_to_close)";
    let kind = TimeoutKind::ScheduleToClose;
    AttemptEnd::TimedOut(kind, Failure::new(FailureKind::TimedOut(kind), text).terminal())
}

/// The end of an activity whose last allowed attempt died with its process.
pub(super) fn lost(command: CommandId, attempts: u32, lost: u32) -> EventKind {
    let text = format!(
        "the process died during attempt {attempts} ({lost} attempts were lost so), no further one is allowed"
    );
    let failure = Failure::new(FailureKind::Lost, text).terminal();
    EventKind::ActivityTaskFailed { id: command, attempt: attempts, failure }
}

/// What follows from the end of attempt `number`.
pub(super) fn judge(command: CommandId, number: u32, task: &Task, end: AttemptEnd) -> Verdict {
    let (failure, timeout, retry_after) = match end {
        AttemptEnd::Aborted => return Verdict::Nothing,
        AttemptEnd::Completed(result) => {
            return Verdict::Ended(EventKind::ActivityTaskCompleted { id: command, attempt: number, result });
        }
        AttemptEnd::Failed(failure, retry_after) => (failure, None, retry_after),
        AttemptEnd::TimedOut(kind, failure) => (failure, Some(kind), None),
    };
    if failure.retryable && task.options.retry.allows_another(number) {
        let delay = task.options.retry.jittered_delay(number, task.jitter);
        return Verdict::Retry { delay: retry_after.map_or(delay, |after| after.max(delay)), failure };
    }
    Verdict::Ended(match timeout {
        Some(timeout) => EventKind::ActivityTaskTimedOut { id: command, attempt: number, timeout, failure },
        None => EventKind::ActivityTaskFailed { id: command, attempt: number, failure },
    })
}
