//! Splits a history into turns: what was delivered to each, and what it asked for.

use crate::history::{Event, EventKind};
use crate::id::EventId;

/// A completed turn of the past.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTurn {
    /// Events delivered to it, in order: everything before its `WorkflowTaskStarted`.
    pub inputs: Vec<Event>,
    /// Its `WorkflowTaskStarted`.
    pub started: Event,
    /// The command events recorded right after its `WorkflowTaskCompleted`.
    pub commands: Vec<Event>,
}

/// What the history holds after its last completed turn: inputs of the turn to come.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tail {
    /// Events not yet delivered.
    pub inputs: Vec<Event>,
    /// A `WorkflowTaskStarted` that no `WorkflowTaskCompleted` answers yet.
    pub started: Option<Event>,
}

/// Takes events in order and gives completed turns out.
#[derive(Debug, Default)]
pub struct TurnSplitter {
    pending: Vec<Event>,
    starts: Vec<Event>,
    open: Option<PastTurn>,
    seen: u64,
}

impl TurnSplitter {
    /// Takes the next event; gives the turn that it shows to be complete.
    ///
    /// # Errors
    ///
    /// An event out of order, or a completion that names no start.
    pub fn push(&mut self, event: Event) -> Result<Option<PastTurn>, (EventId, String)> {
        if event.id.0 != self.seen + 1 {
            return Err((event.id, format!("event {} was expected here", self.seen + 1)));
        }
        self.seen += 1;
        if event.kind.is_command() {
            return match &mut self.open {
                Some(turn) => {
                    turn.commands.push(event);
                    Ok(None)
                }
                None => Err((
                    event.id,
                    format!("{} stands outside the commands of a workflow task", event.kind.name()),
                )),
            };
        }
        let done = self.open.take();
        match event.kind {
            EventKind::WorkflowTaskStarted { .. } => self.starts.push(event),
            EventKind::WorkflowTaskCompleted { started, .. } => self.complete(event.id, started)?,
            _ => self.pending.push(event),
        }
        Ok(done)
    }

    fn complete(&mut self, at: EventId, started: EventId) -> Result<(), (EventId, String)> {
        let Some(index) = self.starts.iter().position(|start| start.id == started) else {
            return Err((at, format!("it answers event {started}, which is no open WorkflowTaskStarted")));
        };
        let start = self.starts.swap_remove(index);
        self.starts.clear();
        let later = self.pending.iter().position(|event| event.id > started).unwrap_or(self.pending.len());
        let rest = self.pending.split_off(later);
        let inputs = std::mem::replace(&mut self.pending, rest);
        self.open = Some(PastTurn { inputs, started: start, commands: Vec::new() });
        Ok(())
    }

    /// The last completed turn, if it was still open, and what follows it.
    pub fn finish(mut self) -> (Option<PastTurn>, Tail) {
        let started = self.starts.pop();
        (self.open.take(), Tail { inputs: self.pending, started })
    }
}
