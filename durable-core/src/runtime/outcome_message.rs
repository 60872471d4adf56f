//! The outcome of an activity row on its way through the inbox: which run it is for, and the event that it becomes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::history::EventKind;
use crate::id::{CommandId, RunId};

/// The body of a message of kind `ActivityOutcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OutcomeMessage {
    /// The run that scheduled the activity. A later run of the instance has commands of the same ids.
    run: RunId,
    event: EventKind,
}

impl OutcomeMessage {
    pub(super) fn encode(run: RunId, event: EventKind) -> serde_json::Result<Bytes> {
        serde_json::to_vec(&Self { run, event }).map(Bytes::from)
    }

    pub(super) fn decode(body: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }

    /// The event, if it is for this run.
    pub(super) fn for_run(self, run: RunId) -> Option<EventKind> {
        (self.run == run).then_some(self.event)
    }

    /// The command of this run that it settles.
    pub(super) fn command(&self, run: RunId) -> Option<CommandId> {
        if self.run == run { self.event.settled_activity() } else { None }
    }
}
