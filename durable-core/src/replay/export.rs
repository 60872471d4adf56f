//! One run as a JSON file: fit to be replayed by a test, or attached to a bug report.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::history::{Event, EventKind};
use crate::id::{EventId, RunId, WorkflowId};

/// The version of the file's form that this build writes.
const FORM: u32 = 1;

/// One run and its whole history.
///
/// As JSON it is one object: `durable_run` (the version of the form, 1), `workflow_id`, `run_id`, `workflow_type` and
/// `events`, each on a line of its own. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct RunExport {
    /// The user's name for the work.
    pub workflow_id: WorkflowId,
    /// The run.
    pub run_id: RunId,
    /// Registered name of the workflow.
    pub workflow_type: String,
    /// Its events, in order.
    pub events: Vec<Event>,
}

/// A run that cannot be read from a file or written to one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// It is no run.
    #[error("this is no exported run: {reason}; write one with `client.export(..)`")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// An event cannot be read.
    #[error("event {at} of the exported run cannot be read: {reason}")]
    Event {
        /// The event.
        at: EventId,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Stored<'a> {
    durable_run: u32,
    workflow_id: WorkflowId,
    run_id: RunId,
    workflow_type: String,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct Head<'a> {
    durable_run: u32,
    workflow_id: &'a WorkflowId,
    run_id: RunId,
    workflow_type: &'a str,
}

impl RunExport {
    /// A run by its history, whose first event says what it is.
    ///
    /// # Errors
    ///
    /// A history that does not begin with `WorkflowExecutionStarted`.
    pub fn new(run_id: RunId, events: Vec<Event>) -> Result<Self, ExportError> {
        match events.first().map(|event| &event.kind) {
            Some(EventKind::WorkflowExecutionStarted { workflow_id, workflow_type, .. }) => Ok(Self {
                workflow_id: workflow_id.clone(),
                run_id,
                workflow_type: workflow_type.clone(),
                events,
            }),
            _ => Err(ExportError::Form { reason: "its history does not begin with a start".to_owned() }),
        }
    }

    /// Reads a run from JSON.
    ///
    /// # Errors
    ///
    /// What is no such file, is of a later form, or has an event that this build does not know, by its id.
    pub fn from_json(text: &str) -> Result<Self, ExportError> {
        let form = |reason: String| ExportError::Form { reason };
        let stored: Stored<'_> = serde_json::from_str(text).map_err(|error| form(error.to_string()))?;
        if stored.durable_run != FORM {
            return Err(form(format!("its form is {}, this build reads {FORM}", stored.durable_run)));
        }
        let mut events = Vec::with_capacity(stored.events.len());
        let mut expected = EventId::FIRST;
        for raw in stored.events {
            let event: Event = serde_json::from_str(raw.get())
                .map_err(|error| ExportError::Event { at: expected, reason: error.to_string() })?;
            if event.id != expected {
                let reason = format!("event {} stands in its place", event.id);
                return Err(ExportError::Event { at: expected, reason });
            }
            expected = expected.next();
            events.push(event);
        }
        let run = Self::new(stored.run_id, events)?;
        if run.workflow_id != stored.workflow_id || run.workflow_type != stored.workflow_type {
            return Err(form("it names another workflow than its first event".to_owned()));
        }
        Ok(run)
    }

    /// The run as JSON.
    ///
    /// # Errors
    ///
    /// A payload that claims to be JSON and is not.
    pub fn to_json(&self) -> Result<String, ExportError> {
        let form = |error: serde_json::Error| ExportError::Form { reason: error.to_string() };
        let head = Head {
            durable_run: FORM,
            workflow_id: &self.workflow_id,
            run_id: self.run_id,
            workflow_type: &self.workflow_type,
        };
        let head = serde_json::to_string(&head).map_err(form)?;
        let events = self.events.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        let events = events.map_err(form)?.join(",\n");
        // An event a line: a difference between two runs can be read.
        Ok(format!("{},\"events\":[\n{events}\n]}}\n", head.trim_end_matches('}')))
    }

    /// Reads a run from a JSON file.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json), and those of the file system.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ExportError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ExportError::File { path: path.to_owned(), error })?;
        Self::from_json(&text)
    }

    /// Writes the run into a new JSON file.
    ///
    /// # Errors
    ///
    /// A file that is there already: a recorded history is not replaced. Those of the file system.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ExportError> {
        let (path, text) = (path.as_ref(), self.to_json()?);
        let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| ExportError::File { path: path.to_owned(), error })
    }
}
