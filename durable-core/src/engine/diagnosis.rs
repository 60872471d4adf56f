//! The text of a mismatch, in the manner of a compiler: what history has, what the code asked for, the
//! field that differs, and what makes it fit again.

use std::fmt::Write as _;

use super::drift::Drift;
use super::fault::Fault;
use super::state::Engine;
use super::version::VersionRequest;
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
        EventKind::MarkerRecorded { marker: Marker::Version { change_id, version, .. } } => {
            format!("version {version} of change `{change_id}`")
        }
        EventKind::WorkflowExecutionCompleted { .. } => "the end of the workflow with `Ok`".to_owned(),
        EventKind::WorkflowExecutionFailed { .. } => "the end of the workflow with `Err`".to_owned(),
        EventKind::WorkflowExecutionCanceled { .. } => {
            "the end of the workflow with `Err` after a cancel request".to_owned()
        }
        EventKind::WorkflowExecutionContinuedAsNew { .. } => {
            "the end of the run, to continue as new".to_owned()
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

/// What a change to this command would be called in a change id.
fn noun(command: &EventKind) -> &str {
    match command {
        EventKind::ActivityTaskScheduled { activity_type, .. } => activity_type,
        EventKind::MarkerRecorded { marker: Marker::SideEffect { name, .. } } => name,
        EventKind::TimerStarted { .. } => "timer",
        EventKind::ActivityTaskCancelRequested { .. } | EventKind::TimerCanceled { .. } => "cancel",
        kind if kind.is_terminal() => "end",
        _ => "command",
    }
}

/// The command without what the run gave it.
fn path(command: &EventKind) -> String {
    let text = describe(command);
    text.split_once(" (").map_or(text.clone(), |(short, _)| short.to_owned())
}

/// The lines that would have made the change safe.
fn safe_change(recorded: Option<&EventKind>, asked: Option<&EventKind>) -> Option<String> {
    match (recorded, asked) {
        // A version asks for nothing: its call is restored, or deprecated first.
        (Some(EventKind::MarkerRecorded { marker: Marker::Version { change_id, version, .. } }), _) => {
            Some(format!(
                "ctx.deprecate_version({change_id:?}, {version}); // until no run that recorded it is open"
            ))
        }
        (Some(old), Some(new)) if path(old) == path(new) => Some(format!(
            "if ctx.version(\"move-{}\", 1..=2) == 1 {{ /* where it was */ }} else {{ /* where it is now */ }}",
            noun(old)
        )),
        (Some(old), Some(new)) => Some(format!(
            "if ctx.version(\"{}-to-{}\", 1..=2) == 1 {{ /* {} */ }} else {{ /* {} */ }}",
            noun(old),
            noun(new),
            path(old),
            path(new)
        )),
        (Some(old), None) => {
            Some(format!("if ctx.version(\"drop-{}\", 1..=2) == 1 {{ /* {} */ }}", noun(old), path(old)))
        }
        (None, Some(new)) => {
            Some(format!("if ctx.version(\"add-{}\", 1..=2) == 2 {{ /* {} */ }}", noun(new), path(new)))
        }
        (None, None) => None,
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

    /// The command is the same, and something about it is not.
    pub(super) fn explain_drift(&self, event: &Event, asked: &EventKind, drift: &Drift) -> Fault {
        let Drift { field, was, is } = drift;
        let mut text = format!(
            "nondeterminism: workflow `{}` no longer fits its recorded history in strict replay: the {field} differs\n  \
             recorded  event {}: {} {}\n            {field}: {was}\n  asked     {field}: {is}",
            self.workflow_type,
            event.id,
            event.kind.name(),
            path(&event.kind),
        );
        if let Some(at) = location(asked) {
            // Writing to a String cannot fail.
            let _infallible = write!(text, "\n            --> {at}");
        }
        text.push_str(
            "\n  help      ordinary replay goes by what was recorded and lets this pass; if the change is not meant, \
             look for a value that does not come from history",
        );
        Fault::Nondeterminism(text)
    }

    /// The run goes by a version for which there is no path.
    pub(super) fn explain_version(&self, request: VersionRequest<'_>, version: u32) -> Fault {
        let VersionRequest { change_id, min, max, .. } = request;
        let paths = if min == max { format!("version {min}") } else { format!("versions {min} to {max}") };
        Fault::Nondeterminism(format!(
            "nondeterminism: workflow `{}` no longer fits its recorded history: the run goes by version {version} of \
             change `{change_id}`, and the code has a path for {paths} only\n  help      restore the path of version \
             {version}, and keep it until no run that goes by it is open; the instance is blocked, keeps everything \
             recorded so far, and goes on by itself once such code is deployed",
            self.workflow_type
        ))
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
        if let Some(change) = safe_change(recorded.map(|event| &event.kind), asked) {
            line("safe", &change);
        }
        line("help", HELP);
        Fault::Nondeterminism(text)
    }
}
