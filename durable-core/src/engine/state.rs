//! The machine itself: one run's ids, scopes, open commands, and the turn under way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::command::{
    ActivityRequest, CancelReach, CommandState, OpenActivity, OpenTimer, Outcome, PendingKind, WaitState,
    duration_us,
};
use super::fault::{Fault, Halted};
use super::scope::{ScopeId, Scopes};
use super::version::Versions;
use crate::history::{Event, EventKind, Failure, Marker, Placement};
use crate::id::{CommandId, CommandKey, EventId, IdSeed, RunId};
use crate::payload::{DataError, Payload, derive, keyed_hash};
use crate::time::Timestamp;

/// How a turn begins.
#[derive(Debug, Clone)]
pub struct TurnStart {
    /// The turn's time: `now()` of the code for the whole turn.
    pub at: Timestamp,
    /// The commands that history holds for it; `None` when it is new.
    pub recorded: Option<Vec<Event>>,
    /// Events in the history when it began.
    pub events: u64,
    /// Whether the history was long enough to suggest a new run.
    pub suggests_continue: bool,
}

/// The replay state machine of one run.
#[derive(Debug)]
pub struct Engine {
    pub(super) scopes: Scopes,
    seed: IdSeed,
    pub(super) commands: BTreeMap<CommandId, CommandState>,
    pub(super) fault: Option<Fault>,
    pub(super) recorded: Option<VecDeque<Event>>,
    /// Why, from the first request to cancel.
    pub(super) cancel_reason: Option<String>,
    pub(super) pending: usize,
    /// Open timers by due time: the next one is found without walking the other commands.
    pub(super) timers: BTreeSet<(Timestamp, CommandId)>,
    pub(super) last_command: Option<String>,
    pub(super) workflow_type: String,
    pub(super) versions: Versions,
    issued: Vec<EventKind>,
    next_id: u64,
    now: Timestamp,
    events: u64,
    suggests_continue: bool,
    max_events: u64,
    closed: bool,
    discarding: bool,
    strictness: Strictness,
    drift: Vec<String>,
}

/// What a difference means that a change of code may well be meant to make: another input, duration or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// It is told: see [`Engine::take_drift`].
    #[default]
    Tell,
    /// The code does not fit.
    Refuse,
}

impl Engine {
    /// A machine at the start of a run; `max_events` is the history's limit.
    pub fn new(workflow_type: &str, seed: IdSeed, max_events: u64, strictness: Strictness) -> Self {
        Self {
            scopes: Scopes::new(seed),
            seed,
            commands: BTreeMap::new(),
            fault: None,
            recorded: None,
            cancel_reason: None,
            pending: 0,
            timers: BTreeSet::new(),
            last_command: None,
            workflow_type: workflow_type.to_owned(),
            versions: Versions::default(),
            issued: Vec::new(),
            next_id: 1,
            now: Timestamp::from_micros(0),
            events: 0,
            suggests_continue: false,
            max_events,
            closed: false,
            discarding: false,
            strictness,
            drift: Vec::new(),
        }
    }

    /// What replay has found so far that differs without being a mismatch; told once.
    pub fn take_drift(&mut self) -> Vec<String> {
        std::mem::take(&mut self.drift)
    }

    /// Begins a turn.
    pub fn begin_turn(&mut self, start: TurnStart) {
        // Time never goes back within a run, whatever clock recorded it.
        self.now = self.now.max(start.at);
        self.events = start.events;
        self.suggests_continue = start.suggests_continue;
        self.issued.clear();
        self.recorded = start.recorded.map(|commands| self.versions.set_aside(commands));
    }

    /// Ends a turn: the commands of a new one, nothing for a replayed one.
    ///
    /// # Errors
    ///
    /// The fault of the turn; recorded commands that the code did not ask for.
    pub fn end_turn(&mut self) -> Result<Vec<EventKind>, Fault> {
        if self.fault.is_none()
            && self.is_replaying()
            && let Some(left) = self.first_left()
        {
            self.fault = Some(self.explain_missing(&left));
        }
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(std::mem::take(&mut self.issued)),
        }
    }

    /// The turn's time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The sticky fault, if the task has failed.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether past commands are being matched, not new ones issued.
    pub fn is_replaying(&self) -> bool {
        self.recorded.is_some()
    }

    /// Whether the run's history is long enough to continue in a new one.
    pub fn suggests_continue(&self) -> bool {
        self.suggests_continue
    }

    /// Why the run was asked to cancel, if it was.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.cancel_reason.as_deref()
    }

    /// Registered name of the workflow.
    pub fn workflow_type(&self) -> &str {
        &self.workflow_type
    }

    /// Whether the workflow has returned.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Commands without outcome: the durable waits that can still wake the run.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// The last command that was issued, for messages.
    pub fn last_command(&self) -> Option<&str> {
        self.last_command.as_deref()
    }

    /// From now on commands are no-ops: the engine itself is about to drop the code's futures.
    pub fn discard(&mut self) {
        self.discarding = true;
    }

    /// Timers that have not fired, in order of (due time, id).
    pub fn open_timers(&self) -> impl Iterator<Item = OpenTimer> + '_ {
        self.timers.iter().map(|(fire_at, id)| OpenTimer { id: *id, fire_at: *fire_at })
    }

    /// The activity of a command, if it has no outcome.
    pub fn open_activity(&self, id: CommandId) -> Option<&OpenActivity> {
        match self.commands.get(&id) {
            Some(CommandState::Pending { kind: PendingKind::Activity(activity), .. }) => Some(activity),
            _ => None,
        }
    }

    /// Activities without outcome.
    pub fn open_activities(&self) -> impl Iterator<Item = &OpenActivity> + '_ {
        self.commands.values().filter_map(|state| match state {
            CommandState::Pending { kind: PendingKind::Activity(activity), .. } => Some(&**activity),
            _ => None,
        })
    }

    /// Mints the key of the next command of that name in a scope.
    pub fn mint_key(&mut self, scope: ScopeId, name: &str) -> CommandKey {
        self.scopes.mint(scope, name)
    }

    /// Opens a scope below another.
    pub fn open_scope(&mut self, parent: ScopeId, name: &str) -> ScopeId {
        self.scopes.open(parent, name)
    }

    /// Opens branch `index` of a scope.
    pub fn open_branch(&mut self, scope: ScopeId, index: usize) -> ScopeId {
        self.scopes.branch(scope, index)
    }

    /// Whether waits end as cancelled, outside a shield or inside.
    pub fn is_cancelled(&self, reach: CancelReach) -> bool {
        self.cancel_reason.is_some() && reach == CancelReach::Reached
    }

    /// Issues an activity: first poll of a call. `None` in a cancelled scope: no command, no id.
    pub fn schedule_activity(&mut self, request: ActivityRequest) -> Result<Option<CommandId>, Halted> {
        if self.is_cancelled(request.reach) {
            return Ok(None);
        }
        let id = self.peek_id()?;
        // Replay compares no hash, and hashing means parsing the input again.
        let input_hash = if self.is_replaying() { 0 } else { keyed_hash(self.seed, &request.input) };
        let command = EventKind::ActivityTaskScheduled {
            id,
            key: request.key,
            activity_type: request.activity_type,
            input: request.input,
            input_hash,
            placement: Placement::Local,
            options: request.options,
            location: request.location,
        };
        let open = OpenActivity::recorded(&command, self.now);
        let recorded = self.issue(command)?;
        let open = recorded.and_then(|event| OpenActivity::recorded(&event, self.now)).or(open);
        if let Some(open) = open {
            self.opened(id, request.reach, PendingKind::Activity(Box::new(open)));
        }
        Ok(Some(id))
    }

    /// Starts a timer: first poll of a sleep. `None` in a cancelled scope.
    pub fn start_timer(
        &mut self,
        reach: CancelReach,
        key: CommandKey,
        duration: Duration,
        location: String,
    ) -> Result<Option<CommandId>, Halted> {
        if self.is_cancelled(reach) {
            return Ok(None);
        }
        let id = self.peek_id()?;
        let fire_at = self.now.plus(duration);
        let kind = EventKind::TimerStarted { id, key, duration_us: duration_us(duration), fire_at, location };
        self.issue(kind).map(|recorded| {
            let fire_at = match recorded {
                Some(EventKind::TimerStarted { fire_at, .. }) => fire_at,
                _ => fire_at,
            };
            self.opened(id, reach, PendingKind::Timer(OpenTimer { id, fire_at }));
            Some(id)
        })
    }

    /// The recorded value of a side effect, or `None` when the code must run it and record the value.
    pub fn recall_side_effect(
        &mut self,
        name: &str,
        key: &CommandKey,
    ) -> Result<Option<Result<Payload, DataError>>, Halted> {
        if self.recorded.is_none() {
            return self.check_running().map(|()| None);
        }
        let marker =
            Marker::SideEffect { name: name.to_owned(), key: key.clone(), value: Ok(Payload::null()) };
        match self.issue(EventKind::MarkerRecorded { marker })? {
            Some(EventKind::MarkerRecorded { marker: Marker::SideEffect { value, .. } }) => Ok(Some(value)),
            _ => Err(Halted),
        }
    }

    /// Records the value of a side effect that has just run.
    pub fn record_side_effect(
        &mut self,
        name: &str,
        key: CommandKey,
        value: Result<Payload, DataError>,
    ) -> Result<(), Halted> {
        let marker = Marker::SideEffect { name: name.to_owned(), key, value };
        self.issue(EventKind::MarkerRecorded { marker }).map(|_| ())
    }

    /// The outcome of a command, handed over once.
    pub fn take_outcome(&mut self, id: CommandId) -> WaitState {
        match self.commands.get(&id) {
            Some(CommandState::Done(_)) => match self.commands.remove(&id) {
                Some(CommandState::Done(outcome)) => WaitState::Done(outcome),
                _ => WaitState::Pending,
            },
            _ => WaitState::Pending,
        }
    }

    /// The code dropped a call that it had polled: requests its cancellation if it is still open.
    pub fn abandon(&mut self, id: CommandId) {
        if self.discarding || self.fault.is_some() || self.closed {
            return;
        }
        match self.commands.remove(&id) {
            Some(CommandState::Pending { kind, .. }) => {
                self.closed_wait(&kind);
                // A halted engine keeps its fault; there is nobody to hand the error to in a drop.
                let _halted = self.issue(cancel_event(id, &kind));
            }
            Some(CommandState::Done(_)) | None => {}
        }
    }

    /// Cancels the pending waits that a cancel request reaches, in order of id.
    pub(super) fn cancel_waits(&mut self) -> Vec<CommandId> {
        let reached: Vec<_> = self
            .commands
            .iter()
            .filter_map(|(id, state)| match state {
                CommandState::Pending { reach: CancelReach::Reached, kind } => Some((*id, kind.clone())),
                _ => None,
            })
            .collect();
        let mut woken = Vec::with_capacity(reached.len());
        for (id, kind) in reached {
            if self.issue(cancel_event(id, &kind)).is_err() {
                break;
            }
            self.closed_wait(&kind);
            self.commands.insert(id, CommandState::Done(Outcome::Cancelled));
            woken.push(id);
        }
        woken
    }

    /// The workflow returned `Ok`.
    pub fn complete(&mut self, result: Payload, result_hash: u64) -> Result<(), Halted> {
        self.close(EventKind::WorkflowExecutionCompleted { result, result_hash })
    }

    /// The workflow returned `Err`: failed, or canceled when it was asked to.
    pub fn fail(&mut self, failure: Failure) -> Result<(), Halted> {
        self.close(if self.cancel_reason.is_some() {
            EventKind::WorkflowExecutionCanceled { failure }
        } else {
            EventKind::WorkflowExecutionFailed { failure }
        })
    }

    /// The workflow goes on in a new run with this input.
    pub fn continue_as_new(&mut self, input: Payload) -> Result<(), Halted> {
        let input_hash = if self.is_replaying() { 0 } else { keyed_hash(self.seed, &input) };
        let new_run_id = self.next_run_id();
        self.close(EventKind::WorkflowExecutionContinuedAsNew { new_run_id, input, input_hash })
    }

    /// A version 7 UUID of the turn's time and the run's seed.
    fn next_run_id(&self) -> RunId {
        let derived = derive(self.seed, "continue-as-new/run");
        let mut random = [0; 10];
        random.copy_from_slice(&derived[..10]);
        let millis = u64::try_from(self.now.as_micros() / 1_000).unwrap_or(0);
        RunId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The seed of the run in which the workflow goes on.
    pub fn next_seed(&self) -> IdSeed {
        let derived = derive(self.seed, "continue-as-new/seed");
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&derived[..16]);
        IdSeed(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    fn close(&mut self, event: EventKind) -> Result<(), Halted> {
        self.issue(event)?;
        self.closed = true;
        Ok(())
    }

    pub(super) fn check_running(&self) -> Result<(), Halted> {
        if self.fault.is_some() || self.discarding || self.closed { Err(Halted) } else { Ok(()) }
    }

    fn peek_id(&self) -> Result<CommandId, Halted> {
        self.check_running().map(|()| CommandId(self.next_id))
    }

    fn opened(&mut self, id: CommandId, reach: CancelReach, kind: PendingKind) {
        self.next_id += 1;
        self.pending += 1;
        if let PendingKind::Timer(timer) = &kind {
            self.timers.insert((timer.fire_at, id));
        }
        self.commands.insert(id, CommandState::Pending { reach, kind });
    }

    /// A pending command has ended, in whatever way.
    pub(super) fn closed_wait(&mut self, kind: &PendingKind) {
        self.pending -= 1;
        if let PendingKind::Timer(timer) = kind {
            self.timers.remove(&(timer.fire_at, timer.id));
        }
    }

    /// Matches a command against history, or records it as new. Gives the recorded one back.
    pub(super) fn issue(&mut self, command: EventKind) -> Result<Option<EventKind>, Halted> {
        self.check_running()?;
        if let Some(recorded) = &mut self.recorded {
            let next = recorded.pop_front();
            self.last_command = Some(super::diagnosis::describe(&command));
            let Some(event) = next else {
                self.fault = Some(self.explain_extra(&command));
                return Err(Halted);
            };
            if let Some(field) = super::matching::difference(&event.kind, &command) {
                self.fault = Some(self.explain_mismatch(&event, &command, field));
                return Err(Halted);
            }
            if let Some(drift) = super::drift::between(self.seed, &event.kind, &command) {
                let explained = self.explain_drift(&event, &command, &drift);
                match self.strictness {
                    Strictness::Tell => self.drift.push(explained.to_string()),
                    Strictness::Refuse => return Err(self.halt(explained)),
                }
            }
            return Ok(Some(event.kind));
        }
        // Two events more belong to the turn itself; the closing event is always admitted.
        let events = self.events + 2 + self.issued.len() as u64;
        if events >= self.max_events && !command.is_terminal() {
            self.fault = Some(Fault::HistoryFull { events, limit: self.max_events });
            return Err(Halted);
        }
        self.last_command = Some(super::diagnosis::describe(&command));
        self.issued.push(command);
        Ok(None)
    }

    /// Fails the task. The first fault stays.
    pub fn halt(&mut self, fault: Fault) -> Halted {
        self.fault.get_or_insert(fault);
        Halted
    }

    pub(super) fn is_discarding(&self) -> bool {
        self.discarding
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id
    }

    pub(super) fn corrupt(&mut self, event: EventId, reason: String) -> Fault {
        let fault = Fault::Corrupt { event, reason };
        self.fault = Some(fault.clone());
        fault
    }
}

fn cancel_event(id: CommandId, kind: &PendingKind) -> EventKind {
    match kind {
        PendingKind::Activity(_) => EventKind::ActivityTaskCancelRequested { id },
        PendingKind::Timer(_) => EventKind::TimerCanceled { id },
    }
}
