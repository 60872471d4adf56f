//! Drift: the same command with another input, duration or result (design D4). Only strict replay refuses it.

use std::time::Duration;

use crate::history::{EventKind, Failure};
use crate::id::IdSeed;
use crate::payload::{Payload, keyed_hash};

/// One field that differs, as it was recorded and as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Drift {
    pub(super) field: &'static str,
    pub(super) was: String,
    pub(super) is: String,
}

/// How a command differs from the recorded one, which it matches.
pub(super) fn between(seed: IdSeed, recorded: &EventKind, asked: &EventKind) -> Option<Drift> {
    use EventKind as K;
    match (recorded, asked) {
        (K::ActivityTaskScheduled { input: was, .. }, K::ActivityTaskScheduled { input: is, .. })
        | (
            K::WorkflowExecutionContinuedAsNew { input: was, .. },
            K::WorkflowExecutionContinuedAsNew { input: is, .. },
        ) => values(seed, "input", was, is),
        (K::TimerStarted { duration_us: was, .. }, K::TimerStarted { duration_us: is, .. }) => {
            let text = |us: &u64| format!("{:?}", Duration::from_micros(*us));
            (was != is).then(|| Drift { field: "duration", was: text(was), is: text(is) })
        }
        (
            K::WorkflowExecutionCompleted { result: was, .. },
            K::WorkflowExecutionCompleted { result: is, .. },
        ) => values(seed, "result", was, is),
        (K::WorkflowExecutionFailed { failure: was }, K::WorkflowExecutionFailed { failure: is })
        | (K::WorkflowExecutionCanceled { failure: was }, K::WorkflowExecutionCanceled { failure: is }) => {
            failures(seed, was, is)
        }
        _ => None,
    }
}

/// The bytes are nearly always the same; if not, the order of keys may be all that differs.
fn values(seed: IdSeed, field: &'static str, was: &Payload, is: &Payload) -> Option<Drift> {
    if was == is || (was.encoding == is.encoding && keyed_hash(seed, was) == keyed_hash(seed, is)) {
        return None;
    }
    Some(Drift { field, was: format!("{was:?}"), is: format!("{is:?}") })
}

fn failures(seed: IdSeed, was: &Failure, is: &Failure) -> Option<Drift> {
    match (&was.error, &is.error) {
        (Some(was), Some(is)) => {
            if let Some(drift) = values(seed, "error", was, is) {
                return Some(drift);
            }
        }
        (None, None) => {}
        _ => {
            let text = |failure: &Failure| format!("{:?}", failure.error);
            return Some(Drift { field: "error", was: text(was), is: text(is) });
        }
    }
    let differs = was.message != is.message;
    differs.then(|| Drift { field: "error text", was: was.message.clone(), is: is.message.clone() })
}
