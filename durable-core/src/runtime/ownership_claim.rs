//! From a claim to a run in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::attempts::lost;
use super::gate::Suspicion;
use super::job::{JobKind, LoadedRun};
use super::message::{HistoryFault, Message};
use super::outcome_message::OutcomeMessage;
use super::ownership::{OwnedRun, Ownership, Phase};
use super::shared::Shared;
use crate::engine::OpenActivity;
use crate::history::{Event, EventKind, decode_batch};
use crate::id::{CommandId, Epoch, EventId, IdSeed, InboxSeq, InstanceId, RunId};
use crate::limits::HISTORY_PAGE_BYTES;
use crate::provider::{ClaimedRun, ErrorKind, HistoryRead, InboxMessage, InboxRead, MessageKind};
use crate::time::Timestamp;
use crate::workflow::RunIdentity;

impl Ownership {
    pub(super) fn claimed(&mut self, claim: ClaimedRun, suspicion: Option<Suspicion>) {
        self.forget(claim.instance, "it was claimed again");
        let seen = claim.inbox.last().map_or(InboxSeq(0), |message| message.seq);
        let (instance, epoch) = (claim.instance, claim.epoch);
        let run = OwnedRun {
            instance,
            epoch,
            identity: RunIdentity { workflow_id: claim.workflow_id, run_id: claim.run_id },
            workflow_type: claim.workflow_type,
            queue: claim.queue,
            next_event: claim.next_event,
            last_event_at: Timestamp::from_micros(0),
            phase: Phase::Idle,
            pass: None,
            suspicion,
            owner_lost: claim.owner_lost,
            blocked_attempts: claim.blocked_attempts,
            clear_block: claim.blocked_attempts > 0,
            seed: None,
            loaded: false,
            history: claim.history,
            has_tail: false,
            inbox: claim.inbox,
            seen,
            consumed: InboxSeq(0),
            reading_inbox: false,
            inputs: Vec::new(),
            new_rows: Vec::new(),
            rows: claim.activity_rows.iter().map(|row| row.command).collect(),
            maybe_lost: Vec::new(),
            running: BTreeMap::new(),
            ready: Vec::new(),
            failed: None,
            next_timer: None,
            alarm: None,
        };
        self.runs.insert(instance, run);
        self.with(instance, epoch, |_, _| {});
    }

    /// Asks the thread for the run, with its history if that was read.
    pub(super) fn load(&self, run: &mut OwnedRun, history: Option<Vec<Event>>) {
        run.phase = Phase::Loading;
        let entry = self.shared.registry.workflow(&run.workflow_type).cloned();
        let job = JobKind::Load { entry, history, limits: self.shared.limits };
        self.host.send(run.job(), job);
    }

    /// Reads the history in the background.
    pub(super) fn read_history(&self, run: &mut OwnedRun) {
        run.phase = Phase::Loading;
        let (shared, answers) = (Arc::clone(&self.shared), self.myself.clone());
        let (instance, epoch, run_id, next) = (run.instance, run.epoch, run.identity.run_id, run.next_event);
        self.shared.tasks.spawn(async move {
            let events = read(&shared, run_id, next).await;
            tell(&answers, Message::History { instance, epoch, events });
        });
    }

    pub(super) fn history(
        &mut self,
        instance: InstanceId,
        epoch: Epoch,
        events: Result<Vec<Event>, HistoryFault>,
    ) {
        if let Err(HistoryFault::Refused(reason)) = &events {
            if self.runs.get(&instance).is_some_and(|run| run.epoch == epoch) {
                self.forget(instance, reason);
            }
            return;
        }
        self.with(instance, epoch, |owner, run| match events {
            Ok(events) => owner.replay(run, events),
            Err(HistoryFault::Corrupt(reason) | HistoryFault::Refused(reason)) => {
                run.phase = Phase::Idle;
                run.fail(reason, true);
            }
        });
    }

    /// Has a claimed run in memory: from the thread's cache, or from the history that the claim brought along.
    pub(super) fn load_claimed(&mut self, run: &mut OwnedRun) {
        match run.history.take().map(|row| decode_batch(&row)).transpose() {
            Ok(None) => self.load(run, None),
            Ok(Some(events)) => self.replay(run, events),
            Err(error) => {
                run.fail(error.to_string(), true);
                self.step(run);
            }
        }
    }

    fn replay(&self, run: &mut OwnedRun, events: Vec<Event>) {
        run.last_event_at = events.last().map_or(run.last_event_at, |event| event.at);
        if run.owner_lost && !run.loaded {
            (run.seed, run.maybe_lost) = scheduled_locally(&events);
        }
        self.load(run, Some(events));
    }

    /// A message came for an instance, owned or not.
    pub(super) fn inbox_hint(&mut self, instance: InstanceId) {
        if !self.runs.contains_key(&instance) {
            return self.shared.poll_now.notify_one();
        }
        self.inbox_pending(instance);
    }

    /// There are unread messages for a run that is claimed for this worker. If it is not known here, the
    /// answer to its claim was lost: polling again would bring nothing before its lease has run out.
    pub(super) fn inbox_pending(&mut self, instance: InstanceId) {
        if let Some(mut run) = self.runs.remove(&instance) {
            self.read_inbox(&mut run);
            self.runs.insert(instance, run);
        }
    }

    pub(super) fn read_inbox(&self, run: &mut OwnedRun) {
        if std::mem::replace(&mut run.reading_inbox, true) {
            return;
        }
        let (shared, answers) = (Arc::clone(&self.shared), self.myself.clone());
        let (instance, epoch, after) = (run.instance, run.epoch, run.seen);
        self.shared.tasks.spawn(async move {
            let messages = match shared.provider.inbox_read(InboxRead { instance, after }).await {
                Ok(messages) => messages,
                Err(error) => {
                    tracing::warn!(%instance, %error, "the inbox cannot be read now; the next poll tries again");
                    Vec::new()
                }
            };
            tell(&answers, Message::Inbox { instance, epoch, messages });
        });
    }
}

/// Sends to the owner; after the worker's end nobody listens, and nothing needs to be done.
pub(super) fn tell(owner: &UnboundedSender<Message>, message: Message) {
    if owner.send(message).is_err() {
        tracing::debug!("an answer came after the worker had ended");
    }
}

async fn read(shared: &Shared, run_id: RunId, next: EventId) -> Result<Vec<Event>, HistoryFault> {
    let mut events = Vec::new();
    let mut from = Some(EventId::FIRST);
    let mut failures = 0;
    while let Some(first) = from {
        let params = HistoryRead { run_id, from: first, max_bytes: HISTORY_PAGE_BYTES };
        match shared.provider.history_read(params).await {
            Ok(page) => {
                for row in &page.rows {
                    events
                        .extend(decode_batch(row).map_err(|error| HistoryFault::Corrupt(error.to_string()))?);
                }
                from = page.next;
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                return Err(HistoryFault::Corrupt(error.to_string()));
            }
            Err(error) if !error.kind().is_transient() || shared.stopped.is_cancelled() => {
                return Err(HistoryFault::Refused(error.to_string()));
            }
            Err(error) => {
                shared.back_off("history_read", failures, &error).await;
                failures += 1;
            }
        }
    }
    let found = events.last().map_or(EventId::FIRST, |event: &Event| event.id.next());
    if found != next {
        let reason = format!(
            "the history ends before event {found}, the run's next event is {next}; restore the missing rows"
        );
        return Err(HistoryFault::Corrupt(reason));
    }
    Ok(events)
}

impl OwnedRun {
    /// The run is in memory: what it waits for is known.
    pub(super) fn in_memory(&mut self, loaded: LoadedRun) {
        self.seed = Some(loaded.seed);
        self.has_tail = loaded.has_tail;
        self.last_event_at = loaded.last_event_at;
        self.next_timer = loaded.next_timer;
        if std::mem::replace(&mut self.loaded, true) {
            return;
        }
        if !loaded.has_tail {
            // Whatever blocked it is gone.
            self.blocked_attempts = 0;
        }
        self.maybe_lost.clear();
        self.find_work(loaded.open);
    }

    /// The code does not fit: attempts that were lost with the last owner are counted all the same.
    pub(super) fn count_lost(&mut self) {
        let open = std::mem::take(&mut self.maybe_lost);
        self.find_work(open);
    }

    /// The command of the run that an unread message settles.
    fn settled_by(&self, message: &InboxMessage) -> Option<CommandId> {
        if message.kind != MessageKind::ActivityOutcome {
            return None;
        }
        match OutcomeMessage::decode(&message.body) {
            Ok(outcome) => outcome.command(self.identity.run_id),
            Err(error) => {
                tracing::warn!(%error, "a message in the inbox cannot be read");
                None
            }
        }
    }

    /// Open activities that nothing carries out: to be started, or lost with the last owner.
    fn find_work(&mut self, open: Vec<OpenActivity>) {
        let told: Vec<CommandId> = self.inbox.iter().filter_map(|message| self.settled_by(message)).collect();
        for open in open {
            if self.rows.contains(&open.id) || told.contains(&open.id) {
                continue;
            }
            if !self.owner_lost {
                self.ready.push(open);
            } else if open.options.retry.allows_another(1) {
                // It may have run: that counts, and its back-off is owed.
                self.make_row(&open, 1, 1, None, None);
            } else {
                self.inputs.push(lost(open.id, 1, 1));
            }
        }
    }
}

/// The seed of a history, and the activities that it schedules without an outcome.
fn scheduled_locally(events: &[Event]) -> (Option<IdSeed>, Vec<OpenActivity>) {
    let (mut seed, mut open) = (None, BTreeMap::new());
    for event in events {
        match &event.kind {
            EventKind::WorkflowExecutionStarted { seed: recorded, .. } => seed = Some(*recorded),
            EventKind::ActivityTaskScheduled { id, .. } => {
                open.extend(OpenActivity::recorded(&event.kind, event.at).map(|activity| (*id, activity)));
            }
            EventKind::ActivityTaskCancelRequested { id } => {
                open.remove(id);
            }
            kind => {
                if let Some(id) = kind.settled_activity() {
                    open.remove(&id);
                }
            }
        }
    }
    (seed, open.into_values().collect())
}
