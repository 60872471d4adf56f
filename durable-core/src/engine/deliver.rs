//! Delivery: one event at a time, in history order, to the waits that it wakes.

use super::command::{CommandState, Outcome, PendingKind};
use super::fault::Fault;
use super::state::Engine;
use crate::history::{Event, EventKind, Failure, FailureKind};
use crate::id::{CommandId, EventId};
use crate::payload::Payload;

/// What the host has to do for a delivered event before the next one.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// Nothing waits for it.
    Nothing,
    /// Start the workflow fn.
    Begin(Begin),
    /// Poll what waits for these commands, in this order.
    Wake(Vec<CommandId>),
}

/// What the workflow fn starts with.
#[derive(Debug, Clone, PartialEq)]
pub struct Begin {
    /// The encoded arguments.
    pub input: Payload,
}

impl Engine {
    /// Delivers one event. A closed run takes no more.
    ///
    /// # Errors
    ///
    /// [`Fault::Corrupt`] for an outcome of a command that the run never issued.
    pub fn deliver(&mut self, event: &Event) -> Result<Delivery, Fault> {
        if let Some(fault) = self.fault() {
            return Err(fault.clone());
        }
        if self.is_closed() {
            // A request to cancel that came too late for this run is for the next one.
            if let EventKind::WorkflowExecutionCancelRequested { reason } = &event.kind {
                self.cancel_reason.get_or_insert_with(|| reason.clone());
            }
            return Ok(Delivery::Nothing);
        }
        match &event.kind {
            EventKind::WorkflowExecutionStarted { input, .. } => {
                Ok(Delivery::Begin(Begin { input: input.clone() }))
            }
            EventKind::ActivityTaskCompleted { id, result, .. } => {
                self.resolve(event.id, *id, true, Outcome::Completed(result.clone()))
            }
            EventKind::ActivityTaskFailed { id, failure, .. }
            | EventKind::ActivityTaskTimedOut { id, failure, .. } => {
                self.resolve(event.id, *id, true, Outcome::Failed(failure.clone()))
            }
            EventKind::ActivityTaskCanceled { id } => {
                let failure = Failure::new(FailureKind::Cancelled, "the activity was cancelled");
                self.resolve(event.id, *id, true, Outcome::Failed(failure))
            }
            EventKind::TimerFired { id } => self.resolve(event.id, *id, false, Outcome::Fired),
            EventKind::WorkflowExecutionCancelRequested { reason } => {
                if self.cancel_reason.is_some() {
                    return Ok(Delivery::Nothing);
                }
                self.cancel_reason = Some(reason.clone());
                Ok(Delivery::Wake(self.cancel_waits()))
            }
            _ => Ok(Delivery::Nothing),
        }
    }

    /// An outcome counts once; one for a command that was cancelled or has ended changes nothing.
    fn resolve(
        &mut self,
        event: EventId,
        id: CommandId,
        activity: bool,
        outcome: Outcome,
    ) -> Result<Delivery, Fault> {
        if id.0 == 0 || id.0 >= self.next_id() {
            return Err(self.corrupt(event, format!("it names command {id}, which the run has not issued")));
        }
        let Some(CommandState::Pending { kind, .. }) = self.commands.get(&id) else {
            return Ok(Delivery::Nothing);
        };
        if matches!(kind, PendingKind::Activity(_)) != activity {
            let reason = format!("command {id} is of another kind than its outcome");
            return Err(self.corrupt(event, reason));
        }
        if let Some(CommandState::Pending { kind, .. }) =
            self.commands.insert(id, CommandState::Done(outcome))
        {
            self.closed_wait(&kind);
        }
        Ok(Delivery::Wake(vec![id]))
    }
}
