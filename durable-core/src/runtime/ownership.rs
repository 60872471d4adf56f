//! The one task that owns the runs of a worker. Transitions are in `ownership_*.rs`, one kind per file.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::attempts::Task;
use super::gate::{Pass, Suspicion};
use super::host::Host;
use super::job::JobRun;
use super::message::Message;
use super::shared::Shared;
use crate::engine::OpenActivity;
use crate::history::{EncodedBatch, EventKind};
use crate::id::{CommandId, Epoch, EventId, IdSeed, InboxSeq, InstanceId, QueueName};
use crate::provider::{Disposition, InboxMessage, NewActivityRow, RunCommit};
use crate::time::Timestamp;
use crate::workflow::RunIdentity;

/// What a run waits for. At most one thing at a time: so there is one uncommitted turn at most.
pub(super) enum Phase {
    /// Nothing is under way.
    Idle,
    /// For the gate.
    Admission,
    /// For its history, or for the thread that loads it.
    Loading,
    /// For the thread that runs its turn; these inputs are taken back if it did not run.
    Turning(Vec<EventKind>),
    /// For the committer.
    Committing(AfterCommit),
}

/// What happens once a commit is proven.
pub(super) struct AfterCommit {
    pub(super) start: Vec<OpenActivity>,
    pub(super) tell: Vec<CancellationToken>,
    pub(super) wrote_block: bool,
    pub(super) disposition: Disposition,
}

/// A local attempt under way.
pub(super) struct Local {
    pub(super) cancel: CancellationToken,
    pub(super) task: Task,
    pub(super) open: OpenActivity,
}

/// Why the run is blocked.
pub(super) struct FailedTask {
    pub(super) reason: String,
    /// `false`: not before another build.
    pub(super) retry: bool,
    /// The reason is stored.
    pub(super) stored: bool,
}

/// One owned run.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each with one reader")]
pub(super) struct OwnedRun {
    pub(super) instance: InstanceId,
    pub(super) epoch: Epoch,
    pub(super) identity: RunIdentity,
    pub(super) workflow_type: String,
    pub(super) queue: QueueName,
    pub(super) next_event: EventId,
    /// Time of the last event that is known here: later ones are not earlier.
    pub(super) last_event_at: Timestamp,
    pub(super) phase: Phase,
    pub(super) pass: Option<Pass>,
    /// It may have killed its last owners: it runs alone.
    pub(super) suspicion: Option<Suspicion>,
    pub(super) owner_lost: bool,
    pub(super) blocked_attempts: u32,
    /// The stored reason is to be cleared with the next commit.
    pub(super) clear_block: bool,
    /// Known once the run was loaded.
    pub(super) seed: Option<IdSeed>,
    pub(super) loaded: bool,
    /// All of its history, if the claim brought that along; until it is loaded.
    pub(super) history: Option<EncodedBatch>,
    /// Committed events wait for a turn.
    pub(super) has_tail: bool,
    pub(super) inbox: Vec<InboxMessage>,
    /// Highest message that was received here.
    pub(super) seen: InboxSeq,
    /// Highest message that became an input; inputs are history with the next commit.
    pub(super) consumed: InboxSeq,
    pub(super) reading_inbox: bool,
    /// Outcomes that no turn has been given yet.
    pub(super) inputs: Vec<EventKind>,
    /// Durable rows to be made with the next commit.
    pub(super) new_rows: Vec<NewActivityRow>,
    /// Commands that have a durable row.
    pub(super) rows: HashSet<CommandId>,
    /// What may have run in the lost owner; known before the code has proven to fit.
    pub(super) maybe_lost: Vec<OpenActivity>,
    pub(super) running: BTreeMap<CommandId, Local>,
    /// Durably scheduled, not started yet.
    pub(super) ready: Vec<OpenActivity>,
    pub(super) failed: Option<FailedTask>,
    pub(super) next_timer: Option<Timestamp>,
    pub(super) alarm: Option<(Timestamp, AbortHandle)>,
}

impl OwnedRun {
    pub(super) fn job(&self) -> JobRun {
        JobRun {
            instance: self.instance,
            epoch: self.epoch,
            identity: self.identity.clone(),
            next_event: self.next_event,
        }
    }

    pub(super) fn fail(&mut self, reason: String, retry: bool) {
        tracing::error!(workflow_id = %self.identity.workflow_id, instance = %self.instance, %reason, "workflow task failed");
        self.failed = Some(FailedTask { reason, retry, stored: false });
        // Listed again by the next claim, when the code fits again.
        self.ready.clear();
    }

    /// Undoes the sending of a turn that did not run.
    pub(super) fn take_back(&mut self, mut sent: Vec<EventKind>) {
        sent.append(&mut self.inputs);
        self.inputs = sent;
    }

    fn drop_effects(&mut self) {
        if let Some((_, alarm)) = self.alarm.take() {
            alarm.abort();
        }
        for (_, local) in std::mem::take(&mut self.running) {
            local.cancel.cancel();
        }
    }
}

/// The ownership task.
pub(super) struct Ownership {
    pub(super) shared: Arc<Shared>,
    pub(super) host: Arc<Host>,
    pub(super) commits: UnboundedSender<RunCommit>,
    /// To itself, for tasks that it spawns.
    pub(super) myself: UnboundedSender<Message>,
    pub(super) runs: BTreeMap<InstanceId, OwnedRun>,
    pub(super) draining: bool,
    /// Activity types that are not registered here, and were told of.
    pub(super) told_unknown: HashSet<String>,
}

impl Ownership {
    /// Runs until it drains and owns nothing, or the worker is stopped.
    pub(super) async fn run(mut self, mut inbox: UnboundedReceiver<Message>) {
        loop {
            let message = tokio::select! {
                biased;
                () = self.shared.stopped.cancelled() => break,
                message = inbox.recv() => message,
            };
            let Some(message) = message else { break };
            self.handle(message);
            self.shared.owned.store(self.runs.len(), Ordering::Release);
            if self.draining && self.runs.is_empty() {
                break;
            }
        }
        for run in self.runs.values_mut() {
            run.drop_effects();
        }
        self.shared.owned.store(0, Ordering::Release);
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Claimed(runs) => {
                for (run, suspicion) in runs {
                    self.claimed(run, suspicion);
                }
            }
            Message::Admitted { instance, epoch, pass } => self.with(instance, epoch, |_, run| {
                run.pass = Some(pass);
                run.phase = Phase::Idle;
            }),
            Message::History { instance, epoch, events } => self.history(instance, epoch, events),
            Message::Thread { instance, epoch, answer } => self.answered(instance, epoch, answer),
            Message::Committed { instance, epoch, answer } => self.committed(instance, epoch, answer),
            Message::Attempted { instance, epoch, command, end } => {
                self.with(instance, epoch, |_, run| run.attempted(command, end));
            }
            Message::InboxHint(instance) => self.inbox_hint(instance),
            Message::InboxPending(instance) => self.inbox_pending(instance),
            Message::Inbox { instance, epoch, messages } => {
                self.with(instance, epoch, |_, run| run.received(messages));
            }
            Message::TimerDue { instance, epoch } => self.with(instance, epoch, |_, run| run.alarm = None),
            Message::Owned(answer) => {
                let owned = self.runs.values().map(|run| (run.instance, run.epoch)).collect();
                if answer.send(owned).is_err() {
                    tracing::debug!("nobody waits for the list of owned runs");
                }
            }
            Message::Lost(instances) => {
                for (instance, epoch) in instances {
                    if self.runs.get(&instance).is_some_and(|run| run.epoch == epoch) {
                        self.forget(instance, "its lease is lost");
                    }
                }
            }
            Message::Drain => {
                self.draining = true;
                self.step_all();
            }
            Message::Abort => {
                self.shared.aborting.cancel();
                self.step_all();
            }
        }
    }

    fn step_all(&mut self) {
        let owned: Vec<_> = self.runs.values().map(|run| (run.instance, run.epoch)).collect();
        for (instance, epoch) in owned {
            self.with(instance, epoch, |_, _| {});
        }
    }

    /// Changes a run, if it is still owned under that epoch, and does what is next for it.
    pub(super) fn with(
        &mut self,
        instance: InstanceId,
        epoch: Epoch,
        change: impl FnOnce(&mut Self, &mut OwnedRun),
    ) {
        let Some(mut run) = self.runs.remove(&instance) else { return };
        if run.epoch == epoch {
            change(self, &mut run);
            self.step(&mut run);
        }
        self.runs.insert(instance, run);
    }

    /// Lets go of a run without writing: whoever owns it now, or the lease, decides.
    pub(super) fn forget(&mut self, instance: InstanceId, why: &str) {
        if let Some(mut run) = self.runs.remove(&instance) {
            tracing::warn!(workflow_id = %run.identity.workflow_id, %instance, why, "let go of a run");
            run.drop_effects();
            self.host.evict(instance);
        }
    }

    /// A released run leaves; its attempts that nobody waits for were told before.
    pub(super) fn released(&mut self, mut run: OwnedRun) {
        run.drop_effects();
        self.shared.poll_now.notify_one();
    }
}

/// Encodes what a provider stores; the types always encode, so a failure is a reason to block the run.
pub(super) fn encoded<T: serde::Serialize>(value: &T) -> Result<Bytes, String> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| error.to_string())
}
