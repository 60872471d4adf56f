//! Drives the futures of one run against its engine: replays the past, then takes new turns.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use super::context::HaltedCode;
use super::entry::{Start, WorkflowEntry};
use super::run::RunCell;
use crate::engine::{
    Delivery, Engine, Fault, OpenActivity, PastTurn, Strictness, Tail, TurnSplitter, TurnStart,
};
use crate::history::{Event, EventKind, StartOptions};
use crate::id::{BuildId, CommandId, EventId, IdSeed, RunId, WorkflowId};
use crate::limits::HistoryLimits;
use crate::panics::panic_text;
use crate::time::Timestamp;

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The user's name for the work.
    pub workflow_id: WorkflowId,
    /// The run.
    pub run_id: RunId,
}

/// A workflow task that failed. The run is not ended by it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct TaskFailure {
    /// Why, for people.
    pub reason: String,
    /// The turn's inputs as events, to be committed without commands: finished work is never lost.
    pub inputs: Vec<Event>,
}

/// How a run is replayed and how long its history may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// How long its history may become.
    pub limits: HistoryLimits,
    /// What another input, duration or result means.
    pub strictness: Strictness,
}

impl From<HistoryLimits> for RunOptions {
    fn from(limits: HistoryLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// What a turn produced.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutput {
    /// Inputs, task started, task completed, commands: to be committed as one.
    pub events: Vec<Event>,
    /// Activities to start once that is durable. Those cancelled in the same turn are not among them.
    pub scheduled: Vec<OpenActivity>,
    /// Activities of earlier turns whose cancellation was requested.
    pub cancelled: Vec<CommandId>,
    /// The terminal event, if the run is over.
    pub closed: Option<EventKind>,
    /// When the next timer is due.
    pub next_timer: Option<Timestamp>,
    /// The run in which the workflow goes on, if it does.
    pub next_run: Option<Box<NextRun>>,
}

/// The beginning of the run in which a workflow continues.
#[derive(Debug, Clone, PartialEq)]
pub struct NextRun {
    /// Its id.
    pub run_id: RunId,
    /// Its id seed.
    pub seed: IdSeed,
    /// The first events of its history.
    pub events: Vec<Event>,
}

/// A run in memory. It never leaves its thread; after an error it must be dropped.
#[derive(Debug)]
pub struct LiveRun {
    run: Rc<RunCell>,
    entry: Option<Arc<dyn WorkflowEntry>>,
    /// Committed events that no turn has been given yet.
    tail: Tail,
    next: EventId,
    /// Time of the last event.
    last: Timestamp,
    seed: IdSeed,
    /// About how many bytes the events are.
    bytes: u64,
    number: u32,
    options: StartOptions,
    limits: HistoryLimits,
    /// A turn was told before to continue in a new run.
    suggested: bool,
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        let run = &self.run;
        // A destructor of user code may panic; it must not take the workflow thread with it.
        if catch_unwind(AssertUnwindSafe(|| run.discard())).is_err() {
            tracing::warn!(workflow_id = %run.identity.workflow_id, "a destructor panicked while a run left memory");
        }
    }
}

impl LiveRun {
    /// Replays a history: every past turn is taken again and must ask for exactly what it asked for then.
    ///
    /// `entry` is `None` when no such workflow is registered.
    ///
    /// # Errors
    ///
    /// The task failed: the code does not fit, panicked, or an event cannot be read.
    pub fn load(
        entry: Option<&Arc<dyn WorkflowEntry>>,
        identity: RunIdentity,
        events: Vec<Event>,
        options: impl Into<RunOptions>,
    ) -> Result<Self, TaskFailure> {
        let RunOptions { limits, strictness } = options.into();
        let fail = |reason: String| TaskFailure { reason, inputs: Vec::new() };
        let Some(EventKind::WorkflowExecutionStarted { seed, workflow_type, run_number, options, .. }) =
            events.first().map(|event| &event.kind)
        else {
            return Err(fail(
                Fault::Corrupt {
                    event: EventId::FIRST,
                    reason: "a history begins with WorkflowExecutionStarted".to_owned(),
                }
                .to_string(),
            ));
        };
        if entry.is_none() {
            return Err(fail(format!(
                "this worker has no workflow named `{workflow_type}`; register it with `.workflow::<..>()`, \
                 or run a worker of a build that has it"
            )));
        }
        let seed = *seed;
        let engine = Engine::new(workflow_type, seed, limits.max_events, strictness);
        let mut live = Self {
            run: RunCell::new(identity, seed, engine),
            entry: entry.cloned(),
            tail: Tail::default(),
            next: EventId(events.len() as u64 + 1),
            last: events.iter().map(|event| event.at).max().unwrap_or(Timestamp::from_micros(0)),
            seed,
            bytes: events.iter().map(|event| event.kind.approximate_bytes()).sum(),
            number: *run_number,
            options: options.clone(),
            limits,
            suggested: false,
        };
        live.replay(events).map_err(fail)?;
        Ok(live)
    }

    fn replay(&mut self, events: Vec<Event>) -> Result<(), String> {
        let mut splitter = TurnSplitter::default();
        for event in events {
            let turn = splitter
                .push(event)
                .map_err(|(event, reason)| Fault::Corrupt { event, reason }.to_string())?;
            if let Some(turn) = turn {
                self.replay_turn(turn)?;
            }
        }
        let (last, tail) = splitter.finish();
        if let Some(turn) = last {
            self.replay_turn(turn)?;
        }
        self.tail = tail;
        Ok(())
    }

    fn replay_turn(&mut self, turn: PastTurn) -> Result<(), String> {
        let suggests_continue =
            matches!(turn.started.kind, EventKind::WorkflowTaskStarted { suggests_continue: true, .. });
        self.suggested |= suggests_continue;
        self.run.engine.borrow_mut().begin_turn(TurnStart {
            at: turn.started.at,
            recorded: Some(turn.commands),
            events: turn.started.id.0,
            suggests_continue,
        });
        self.deliver_all(&turn.inputs)?;
        let ended = self.run.engine.borrow_mut().end_turn();
        ended.map(|_| ()).map_err(|fault| fault.to_string())
    }

    /// Delivers events one at a time, polling what each wakes before the next.
    fn deliver_all(&self, events: &[Event]) -> Result<(), String> {
        for event in events {
            let polled = catch_unwind(AssertUnwindSafe(|| self.deliver(event)));
            // A fault comes first: code that cannot return stops by unwinding after one.
            if let Some(fault) = self.run.engine.borrow().fault() {
                return Err(fault.to_string());
            }
            match polled {
                Ok(result) => result?,
                // Code of a run that is over may still be dropped, and ask for something then.
                Err(payload) if payload.is::<HaltedCode>() && self.is_closed() => {}
                Err(payload) => return Err(self.describe_panic(payload.as_ref())),
            }
        }
        let engine = self.run.engine.borrow();
        if !events.is_empty() && !engine.is_closed() && engine.pending() == 0 {
            return Err(format!(
                "workflow `{}` waits for something that is not durable, or for a condition that nothing pending can change, \
                 so nothing recorded can ever wake it (last command: {}); await only `ctx` operations and calls of \
                 activities",
                self.name(),
                engine.last_command().unwrap_or("none")
            ));
        }
        Ok(())
    }

    fn deliver(&self, event: &Event) -> Result<(), String> {
        let delivered = self.run.engine.borrow_mut().deliver(event);
        match delivered.map_err(|fault| fault.to_string())? {
            Delivery::Nothing => return Ok(()),
            Delivery::Begin(begin) => {
                if let Some(entry) = &self.entry {
                    let start = Start { run: &self.run, input: &begin.input };
                    entry.begin(start).map_err(|error| error.to_string())?;
                }
            }
            Delivery::Wake(ids) => ids.into_iter().for_each(|id| self.run.wake(id)),
        }
        self.run.poll_ready();
        Ok(())
    }

    fn name(&self) -> &'static str {
        self.entry.as_ref().map_or("?", |entry| entry.name())
    }

    fn describe_panic(&self, payload: &(dyn Any + Send)) -> String {
        let text = panic_text(payload);
        format!(
            "workflow `{}` panicked: {text}; fix the code and deploy it, the run goes on by itself",
            self.name()
        )
    }

    /// What replay found that differs without being a mismatch; told once.
    pub fn take_drift(&self) -> Vec<String> {
        self.run.engine.borrow_mut().take_drift()
    }

    /// Id that the next new event gets.
    pub fn next_event(&self) -> EventId {
        self.next
    }

    /// The run's id seed.
    pub fn seed(&self) -> IdSeed {
        self.seed
    }

    /// The time of the last event.
    pub fn last_event_at(&self) -> Timestamp {
        self.last
    }

    /// Whether committed events wait to be delivered: a start, or the inputs of a failed turn.
    pub fn has_tail(&self) -> bool {
        !self.tail.inputs.is_empty() || self.tail.started.is_some()
    }

    /// Whether the workflow has returned.
    pub fn is_closed(&self) -> bool {
        self.run.engine.borrow().is_closed()
    }

    /// Timers that are due at `at`, as inputs, in order of (due time, id).
    pub fn due_timers(&self, at: Timestamp) -> Vec<EventKind> {
        let engine = self.run.engine.borrow();
        engine
            .open_timers()
            .take_while(|timer| timer.fire_at <= at)
            .filter(|timer| !self.tail_fires(timer.id))
            .map(|timer| EventKind::TimerFired { id: timer.id })
            .collect()
    }

    fn tail_fires(&self, timer: CommandId) -> bool {
        self.tail.inputs.iter().any(|event| event.kind == EventKind::TimerFired { id: timer })
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.run.engine.borrow().open_timers().next().map(|timer| timer.fire_at)
    }

    /// Activities without outcome, outcomes that wait to be delivered taken into account.
    pub fn open_activities(&self) -> Vec<OpenActivity> {
        let settled: Vec<_> =
            self.tail.inputs.iter().filter_map(|event| event.kind.settled_activity()).collect();
        let engine = self.run.engine.borrow();
        engine.open_activities().filter(|activity| !settled.contains(&activity.id)).cloned().collect()
    }

    /// Takes a turn: what is committed and not delivered yet, then `inputs`.
    ///
    /// # Errors
    ///
    /// The task failed; the inputs come back as events to be committed alone.
    pub fn turn(
        &mut self,
        inputs: Vec<EventKind>,
        at: Timestamp,
        build: &BuildId,
    ) -> Result<TurnOutput, TaskFailure> {
        let tail = std::mem::take(&mut self.tail);
        // Time never goes back within a history, whatever clock an owner goes by.
        let at = at.max(self.last);
        self.last = at;
        let fresh = number(self.next, at, inputs);
        self.bytes += fresh.iter().map(|event| event.kind.approximate_bytes()).sum::<u64>();
        let started = self.task_started(EventId(self.next.0 + fresh.len() as u64));
        self.run.engine.borrow_mut().begin_turn(TurnStart {
            at,
            recorded: None,
            events: started.id.0,
            suggests_continue: started.suggests_continue,
        });
        let mut delivered = tail.inputs;
        delivered.extend(fresh.iter().cloned());
        if let Err(reason) = self.deliver_all(&delivered) {
            return Err(TaskFailure { reason, inputs: fresh });
        }
        let ended = self.run.engine.borrow_mut().end_turn();
        let commands = match ended {
            Ok(commands) => commands,
            Err(fault) => return Err(TaskFailure { reason: fault.to_string(), inputs: fresh }),
        };
        Ok(self.finish_turn(fresh, commands, at, started, build))
    }

    /// What the turn's `WorkflowTaskStarted` will say.
    fn task_started(&mut self, id: EventId) -> TaskStarted {
        let suggests_continue = self.limits.suggests_continue(id.0, self.bytes);
        if suggests_continue && !std::mem::replace(&mut self.suggested, true) {
            tracing::warn!(
                workflow_id = %self.run.identity.workflow_id,
                workflow = self.name(),
                events = id.0,
                bytes = self.bytes,
                max_events = self.limits.max_events,
                "the history of a run has become long; let it continue in a new one (`ctx.continue_as_new`)"
            );
        }
        TaskStarted { id, bytes: self.bytes, suggests_continue }
    }

    fn finish_turn(
        &mut self,
        mut events: Vec<Event>,
        commands: Vec<EventKind>,
        at: Timestamp,
        started: TaskStarted,
        build: &BuildId,
    ) -> TurnOutput {
        let TaskStarted { id: started, bytes, suggests_continue } = started;
        let mut own = vec![
            EventKind::WorkflowTaskStarted { events: started.0, bytes, suggests_continue },
            EventKind::WorkflowTaskCompleted { started, build: build.clone() },
        ];
        let scheduled_now: Vec<_> = commands.iter().filter_map(scheduled_id).collect();
        let cancelled = commands.iter().filter_map(cancelled_id).filter(|id| !scheduled_now.contains(id));
        let cancelled = cancelled.collect();
        let closed = commands.iter().find(|command| command.is_terminal()).cloned();
        own.extend(commands);
        self.bytes += own.iter().map(EventKind::approximate_bytes).sum::<u64>();
        events.extend(number(started, at, own));
        self.next = EventId(events.last().map_or(self.next.0, |event| event.id.0 + 1));
        let engine = self.run.engine.borrow();
        let scheduled = match closed {
            Some(_) => Vec::new(),
            None => scheduled_now.iter().filter_map(|id| engine.open_activity(*id).cloned()).collect(),
        };
        drop(engine);
        let next_run = closed.as_ref().and_then(|closed| self.next_run(closed, at)).map(Box::new);
        TurnOutput { events, scheduled, cancelled, closed, next_timer: self.next_timer(), next_run }
    }

    /// The run in which the workflow goes on: with the options of this one, and a request to cancel that it had.
    fn next_run(&self, closed: &EventKind, at: Timestamp) -> Option<NextRun> {
        let EventKind::WorkflowExecutionContinuedAsNew { new_run_id, input, .. } = closed else {
            return None;
        };
        let engine = self.run.engine.borrow();
        let seed = engine.next_seed();
        let mut kinds = vec![EventKind::WorkflowExecutionStarted {
            workflow_id: self.run.identity.workflow_id.clone(),
            workflow_type: engine.workflow_type().to_owned(),
            run_number: self.number.saturating_add(1),
            seed,
            input: input.clone(),
            options: self.options.clone(),
            continued_from: Some(self.run.identity.run_id),
        }];
        kinds.extend(
            engine
                .cancel_reason()
                .map(|reason| EventKind::WorkflowExecutionCancelRequested { reason: reason.to_owned() }),
        );
        Some(NextRun { run_id: *new_run_id, seed, events: number(EventId::FIRST, at, kinds) })
    }
}

/// What a new turn's `WorkflowTaskStarted` says.
#[derive(Clone, Copy)]
struct TaskStarted {
    id: EventId,
    bytes: u64,
    suggests_continue: bool,
}

fn number(first: EventId, at: Timestamp, kinds: Vec<EventKind>) -> Vec<Event> {
    (first.0..).zip(kinds).map(|(id, kind)| Event { id: EventId(id), at, kind }).collect()
}

fn scheduled_id(command: &EventKind) -> Option<CommandId> {
    match command {
        EventKind::ActivityTaskScheduled { id, .. } => Some(*id),
        _ => None,
    }
}

fn cancelled_id(command: &EventKind) -> Option<CommandId> {
    match command {
        EventKind::ActivityTaskCancelRequested { id } => Some(*id),
        _ => None,
    }
}
