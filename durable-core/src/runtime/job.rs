//! What is asked of the place where runs live, what it answers, and how a job is done there.

use std::sync::Arc;
use std::time::Duration;

use super::cache::Cache;
use crate::engine::OpenActivity;
use crate::history::{Event, EventKind};
use crate::id::{BuildId, Epoch, EventId, IdSeed, InstanceId};
use crate::limits::HistoryLimits;
use crate::time::Timestamp;
use crate::workflow::{LiveRun, RunIdentity, TaskFailure, TurnOutput, WorkflowEntry};

/// Which run a job is about, and which of its states.
#[derive(Clone)]
pub(super) struct JobRun {
    pub(super) instance: InstanceId,
    pub(super) epoch: Epoch,
    pub(super) identity: RunIdentity,
    /// What was committed: a cached run that knows anything else is of no use.
    pub(super) next_event: EventId,
}

/// What a thread is to do.
pub(super) enum JobKind {
    /// Have the run in memory, from the cache or from its history.
    Load { entry: Option<Arc<dyn WorkflowEntry>>, history: Option<Vec<Event>>, limits: HistoryLimits },
    /// Deliver `inputs` and the timers that are due at `at`.
    Turn { inputs: Vec<EventKind>, at: Timestamp, build: BuildId },
}

/// What reaches the place where a run lives.
pub(super) enum Order {
    Job(JobRun, JobKind),
    Evict(InstanceId),
}

/// What a thread answers.
pub(super) enum Answer {
    /// The run is not in the cache (any more).
    NeedHistory,
    /// The run is in memory.
    Loaded(LoadedRun),
    /// The turn ran; nothing of it is committed yet.
    Turned(TurnOutput),
    /// There was nothing to deliver.
    Idle { next_timer: Option<Timestamp> },
    /// The workflow task failed.
    Failed(TaskFailure),
    /// The turn did not end in time; its thread was given up.
    Deadlock { limit: Duration },
}

/// What the owner must know of a run in memory.
pub(super) struct LoadedRun {
    pub(super) seed: IdSeed,
    pub(super) open: Vec<OpenActivity>,
    pub(super) has_tail: bool,
    pub(super) last_event_at: Timestamp,
    pub(super) next_timer: Option<Timestamp>,
    /// Inputs, durations and results that are not what they were when they were recorded.
    pub(super) drift: Vec<String>,
}

/// Does a job. `LiveRun` catches the panics of workflow code itself.
pub(super) fn perform(cache: &mut Cache, run: &JobRun, job: JobKind) -> Answer {
    let run_id = run.identity.run_id;
    let cached = cache.take(run.instance, run_id, run.next_event);
    match job {
        JobKind::Load { entry, history, limits } => {
            let live = match (cached, history) {
                (Some(live), _) => live,
                (None, None) => return Answer::NeedHistory,
                (None, Some(events)) => {
                    match LiveRun::load(entry.as_ref(), run.identity.clone(), events, limits) {
                        Ok(live) => live,
                        Err(failure) => return Answer::Failed(failure),
                    }
                }
            };
            let loaded = LoadedRun {
                seed: live.seed(),
                open: live.open_activities(),
                has_tail: live.has_tail(),
                last_event_at: live.last_event_at(),
                next_timer: live.next_timer(),
                drift: live.take_drift(),
            };
            cache.put(run.instance, run_id, live);
            Answer::Loaded(loaded)
        }
        JobKind::Turn { mut inputs, at, build } => {
            let Some(mut live) = cached else { return Answer::NeedHistory };
            inputs.extend(live.due_timers(at));
            if inputs.is_empty() && !live.has_tail() {
                let next_timer = live.next_timer();
                cache.put(run.instance, run_id, live);
                return Answer::Idle { next_timer };
            }
            match live.turn(inputs, at, &build) {
                Ok(output) => {
                    if output.closed.is_none() {
                        cache.put(run.instance, run_id, live);
                    }
                    Answer::Turned(output)
                }
                Err(failure) => Answer::Failed(failure),
            }
        }
    }
}
