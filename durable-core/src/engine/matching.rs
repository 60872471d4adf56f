//! What counts as "the same command" on replay (design D4): ids, keys, names and kinds, always;
//! inputs, durations and results only in strict replay.

use crate::history::{EventKind, Marker};

/// The first field in which a command differs from the recorded one.
pub(super) fn difference(recorded: &EventKind, asked: &EventKind) -> Option<&'static str> {
    use EventKind as K;
    match (recorded, asked) {
        (
            K::ActivityTaskScheduled { id, key, activity_type, .. },
            K::ActivityTaskScheduled { id: id2, key: key2, activity_type: type2, .. },
        ) => first(&[(activity_type != type2, "activity type"), (key != key2, "key"), (id != id2, "id")]),
        (K::TimerStarted { id, key, .. }, K::TimerStarted { id: id2, key: key2, .. }) => {
            first(&[(key != key2, "key"), (id != id2, "id")])
        }
        (K::ActivityTaskCancelRequested { id }, K::ActivityTaskCancelRequested { id: id2 })
        | (K::TimerCanceled { id }, K::TimerCanceled { id: id2 }) => first(&[(id != id2, "id")]),
        (
            K::MarkerRecorded { marker: Marker::SideEffect { name, .. } },
            K::MarkerRecorded { marker: Marker::SideEffect { name: name2, .. } },
        ) => first(&[(name != name2, "side effect name")]),
        (K::WorkflowExecutionCompleted { .. }, K::WorkflowExecutionCompleted { .. })
        | (K::WorkflowExecutionFailed { .. }, K::WorkflowExecutionFailed { .. })
        | (K::WorkflowExecutionCanceled { .. }, K::WorkflowExecutionCanceled { .. })
        | (K::WorkflowExecutionContinuedAsNew { .. }, K::WorkflowExecutionContinuedAsNew { .. }) => None,
        _ => Some("kind"),
    }
}

fn first(differences: &[(bool, &'static str)]) -> Option<&'static str> {
    differences.iter().find(|(differs, _)| *differs).map(|(_, field)| *field)
}
