//! What the history of a closed run must look like.

use std::collections::BTreeSet;

use durable_core::history::{Event, EventKind};
use durable_core::id::{CommandId, EventId, RunId};

/// What of the commands seen so far is still open.
#[derive(Default)]
struct Open {
    activities: BTreeSet<CommandId>,
    cancelled: BTreeSet<CommandId>,
    timers: BTreeSet<CommandId>,
    /// Fired among the inputs of the turn under way: what was delivered before may still cancel them.
    fired: BTreeSet<CommandId>,
    in_commands: bool,
    last_command: u64,
    turn: Option<EventId>,
}

/// Whether the events of a closed run can follow each other so.
pub(super) fn check(events: &[Event]) -> Result<(), String> {
    let mut open = Open::default();
    for (index, event) in events.iter().enumerate() {
        let at = |what: &str| Err(format!("event {} ({}) {what}", event.id, event.kind.name()));
        let expected = u64::try_from(index).unwrap_or(u64::MAX) + 1;
        if event.id.0 != expected {
            return at(&format!("should have id {expected}"));
        }
        if matches!(event.kind, EventKind::WorkflowExecutionStarted { .. }) != (index == 0) {
            return at("is not where a history begins");
        }
        if index > 0 && event.at < events[index - 1].at {
            return at("is earlier than the event before it");
        }
        if event.kind.is_terminal() != (index + 1 == events.len()) {
            return at("is not where a closed history ends");
        }
        open.see(event).or_else(|what| at(&what))?;
    }
    Ok(())
}

/// Whether a run begins as the run before it ended.
pub(super) fn check_link(run: RunId, ended: &[Event], begun: &[Event]) -> Result<(), String> {
    let (Some(first), Some(last), Some(start)) = (ended.first(), ended.last(), begun.first()) else {
        return Err(format!("run {run} or the one after it has no events"));
    };
    let EventKind::WorkflowExecutionStarted { workflow_id, workflow_type, run_number, seed, options, .. } =
        &first.kind
    else {
        return Err(format!("run {run} does not begin with its start"));
    };
    let EventKind::WorkflowExecutionContinuedAsNew { input, .. } = &last.kind else {
        return Err(format!("run {run} does not continue"));
    };
    match &start.kind {
        EventKind::WorkflowExecutionStarted {
            workflow_id: id,
            workflow_type: kind,
            run_number: number,
            seed: own_seed,
            input: arguments,
            options: own_options,
            continued_from,
        } => {
            let same = (id, kind, own_options, arguments) == (workflow_id, workflow_type, options, input);
            let new = *number == run_number + 1 && own_seed != seed && *continued_from == Some(run);
            if !same || !new {
                return Err(format!("the run after {run} does not begin as it ended: {:?}", start.kind));
            }
        }
        other => return Err(format!("the run after {run} begins with {}", other.name())),
    }
    let asked = |events: &[Event]| {
        events.iter().any(|event| matches!(event.kind, EventKind::WorkflowExecutionCancelRequested { .. }))
    };
    if asked(ended) && !asked(begun.get(1..2).unwrap_or_default()) {
        return Err(format!("run {run} was asked to cancel, and the run after it does not know"));
    }
    if start.at < last.at {
        return Err(format!("the run after {run} begins before that one ended"));
    }
    Ok(())
}

impl Open {
    fn see(&mut self, event: &Event) -> Result<(), String> {
        let settled = event.kind.settled_activity();
        if self.in_commands && !event.kind.is_command() {
            self.fired.clear();
        }
        self.in_commands =
            event.kind.is_command() || matches!(event.kind, EventKind::WorkflowTaskCompleted { .. });
        match &event.kind {
            EventKind::WorkflowTaskStarted { .. } => self.turn = Some(event.id),
            EventKind::WorkflowTaskCompleted { started, .. } if self.turn.take() != Some(*started) => {
                return Err("does not end the turn before it".to_owned());
            }
            EventKind::ActivityTaskScheduled { id, .. } => {
                self.command(*id)?;
                self.activities.insert(*id);
            }
            EventKind::ActivityTaskCancelRequested { id } => {
                self.cancelled.insert(*id);
                if !self.activities.remove(id) {
                    return Err("cancels what is not open".to_owned());
                }
            }
            EventKind::TimerStarted { id, .. } => {
                self.command(*id)?;
                self.timers.insert(*id);
            }
            EventKind::TimerFired { id } => {
                if !self.timers.remove(id) {
                    return Err(format!("names timer {id}, which is not open"));
                }
                self.fired.insert(*id);
            }
            EventKind::TimerCanceled { id } => {
                if !self.timers.remove(id) && !self.fired.remove(id) {
                    return Err(format!("names timer {id}, which is not open"));
                }
            }
            // The outcome of a cancelled activity may still arrive, and changes nothing.
            _ => {
                if let Some(id) = settled
                    && !self.activities.remove(&id)
                    && !self.cancelled.remove(&id)
                {
                    return Err(format!("is a second outcome of activity {id}, or one without a command"));
                }
            }
        }
        Ok(())
    }

    fn command(&mut self, id: CommandId) -> Result<(), String> {
        self.last_command += 1;
        if id.0 == self.last_command {
            Ok(())
        } else {
            Err(format!("should have command id {}", self.last_command))
        }
    }
}
