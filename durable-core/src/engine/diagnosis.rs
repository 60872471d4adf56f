//! The text of a mismatch, in the manner of a compiler: what history has, what the code asked for, the
//! field that differs, and what makes it fit again.

use std::fmt::Write as _;

use super::fault::Fault;
use super::state::Engine;
use crate::history::{Event, EventKind, Marker};

/// A command in one line, e.g. ``activity `ship` (id 2, key `ship#1`)``.
pub(super) fn describe(command: &EventKind) -> String {
    match command {
        EventKind::ActivityTaskScheduled { id, key, activity_type, .. } => {
            format!("activity `{activity_type}` (id {id}, key `{key}`)")
        }
        EventKind::ActivityTaskCancelRequested { id } => format!("cancel of activity {id}"),
        EventKind::TimerStarted { id, key, duration_us, .. } => {
            let duration = std::time::Duration::from_micros(*duration_us);
            format!("timer of {duration:?} (id {id}, key `{key}`)")
        }
        EventKind::TimerCanceled { id } => format!("cancel of timer {id}"),
        EventKind::MarkerRecorded { marker: Marker::SideEffect { name, key, .. } } => {
            format!("side effect `{name}` (key `{key}`)")
        }
        EventKind::WorkflowExecutionCompleted { .. } => "the end of the workflow with `Ok`".to_owned(),
        EventKind::WorkflowExecutionFailed { .. } => "the end of the workflow with `Err`".to_owned(),
        EventKind::WorkflowExecutionCanceled { .. } => {
            "the end of the workflow with `Err` after a cancel request".to_owned()
        }
        other => other.name().to_owned(),
    }
}

fn location(command: &EventKind) -> Option<&str> {
    match command {
        EventKind::ActivityTaskScheduled { location, .. } | EventKind::TimerStarted { location, .. } => {
            Some(location)
        }
        _ => None,
    }
}

const HELP: &str = "run this instance with the code that recorded its history, or restore the recorded order; \
                    the instance is blocked, keeps everything recorded so far, and goes on by itself once \
                    matching code is deployed";

impl Engine {
    pub(super) fn explain_mismatch(&self, event: &Event, asked: &EventKind, field: &str) -> Fault {
        self.explain(Some(event), Some(asked), &format!("the {field} differs"))
    }

    pub(super) fn explain_extra(&self, asked: &EventKind) -> Fault {
        self.explain(None, Some(asked), "the code asks for a command that history does not have")
    }

    pub(super) fn explain_missing(&self, event: &Event) -> Fault {
        self.explain(Some(event), None, "the code no longer asks for a recorded command")
    }

    fn explain(&self, recorded: Option<&Event>, asked: Option<&EventKind>, difference: &str) -> Fault {
        let mut text = format!(
            "nondeterminism: workflow `{}` no longer fits its recorded history: {difference}",
            self.workflow_type
        );
        // Writing to a String cannot fail.
        let mut line = |label: &str, what: &str| {
            let _infallible = write!(text, "\n  {label:<9} {what}");
        };
        match recorded {
            Some(event) => {
                let what = format!("event {}: {} {}", event.id, event.kind.name(), describe(&event.kind));
                line("recorded", &what);
                if let Some(at) = location(&event.kind) {
                    line("", &format!("--> {at} when it was recorded"));
                }
            }
            None => line("recorded", "no further command in this workflow task"),
        }
        match asked {
            Some(asked) => {
                line("asked", &describe(asked));
                if let Some(at) = location(asked) {
                    line("", &format!("--> {at}"));
                }
            }
            None => line("asked", "nothing more in this workflow task"),
        }
        line("help", HELP);
        Fault::Nondeterminism(text)
    }
}
