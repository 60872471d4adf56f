//! What is next for a run when nothing is under way for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::job::{Answer, JobKind};
use super::message::Message;
use super::outcome_message::OutcomeMessage;
use super::ownership::{OwnedRun, Ownership, Phase};
use super::ownership_claim::tell;
use super::ownership_commit::CommitParts;
use crate::history::EventKind;
use crate::id::{Epoch, InstanceId};
use crate::provider::{InboxMessage, MessageKind};

impl Ownership {
    /// Does what is next.
    pub(super) fn step(&mut self, run: &mut OwnedRun) {
        if !matches!(run.phase, Phase::Idle) {
            return;
        }
        if run.failed.is_some() {
            return self.step_failed(run);
        }
        if self.draining {
            return self.step_draining(run);
        }
        if !run.loaded {
            if self.admit(run) {
                self.load_claimed(run);
            }
            return;
        }
        let takes_inbox = run.blocked_attempts == 0 && !run.inbox.is_empty();
        let due = run.next_timer.is_some_and(|at| at <= self.shared.database_now());
        if run.has_tail || !run.inputs.is_empty() || takes_inbox || due {
            if self.admit(run) {
                self.turn(run);
            }
            return;
        }
        if !run.new_rows.is_empty() {
            return self.commit(run, CommitParts::default());
        }
        for open in std::mem::take(&mut run.ready) {
            self.start_local(run, open);
        }
        if run.running.is_empty() || !run.new_rows.is_empty() {
            return self.commit(run, CommitParts::default());
        }
        // Its attempts get passes of their own: this one would be in the way of a suspect, or of themselves.
        run.pass = None;
        self.set_alarm(run);
    }

    fn step_failed(&mut self, run: &mut OwnedRun) {
        let stored = run.failed.as_ref().is_some_and(|failed| failed.stored);
        if stored && run.inputs.is_empty() && run.new_rows.is_empty() && !run.running.is_empty() {
            return;
        }
        let parts = CommitParts { kinds: std::mem::take(&mut run.inputs), ..CommitParts::default() };
        self.commit(run, parts);
    }

    /// Every result is committed, nothing new starts, and the run is released when it is quiet.
    fn step_draining(&mut self, run: &mut OwnedRun) {
        let waits = !run.running.is_empty();
        if waits && run.inputs.is_empty() && run.new_rows.is_empty() {
            return;
        }
        let kinds = std::mem::take(&mut run.inputs);
        // Outcomes without a turn are a tail for the next owner.
        run.has_tail |= !kinds.is_empty();
        self.commit(run, CommitParts { kinds, ..CommitParts::default() });
    }

    /// Whether the run may work now; if not, a message will come.
    fn admit(&self, run: &mut OwnedRun) -> bool {
        if run.pass.is_some() {
            return true;
        }
        if run.suspicion.is_none() {
            run.pass = self.shared.gate.try_enter();
            if run.pass.is_some() {
                return true;
            }
        }
        run.phase = Phase::Admission;
        let (shared, owner) = (Arc::clone(&self.shared), self.myself.clone());
        let (instance, epoch, suspect) = (run.instance, run.epoch, run.suspicion.is_some());
        self.shared.tasks.spawn(async move {
            let pass = shared.gate.enter(suspect).await;
            tell(&owner, Message::Admitted { instance, epoch, pass });
        });
        false
    }

    fn turn(&mut self, run: &mut OwnedRun) {
        if run.blocked_attempts == 0
            && let Err(reason) = run.take_inbox()
        {
            run.fail(reason, true);
            return self.commit_failure(run);
        }
        let inputs = std::mem::take(&mut run.inputs);
        let (at, build) = (self.shared.database_now(), self.shared.build.clone());
        self.host.send(run.job(), JobKind::Turn { inputs: inputs.clone(), at, build });
        run.phase = Phase::Turning(inputs);
    }

    /// A workflow thread has answered.
    pub(super) fn answered(&mut self, instance: InstanceId, epoch: Epoch, answer: Answer) {
        self.with(instance, epoch, |owner, run| {
            let sent = match std::mem::replace(&mut run.phase, Phase::Idle) {
                Phase::Turning(sent) => sent,
                Phase::Loading => Vec::new(),
                other => {
                    run.phase = other;
                    return;
                }
            };
            match answer {
                Answer::NeedHistory => {
                    run.take_back(sent);
                    owner.read_history(run);
                }
                Answer::Loaded(loaded) => {
                    owner.tell_drift(run, &loaded.drift);
                    run.in_memory(loaded);
                }
                Answer::Idle { next_timer } => {
                    run.pass = None;
                    run.has_tail = false;
                    run.next_timer = next_timer;
                }
                Answer::Turned(output) => owner.commit_turn(run, output),
                Answer::Failed(failure) => {
                    run.count_lost();
                    run.fail(failure.reason, true);
                    let kinds = failure.inputs.into_iter().map(|event| event.kind).collect();
                    run.take_back(kinds);
                    owner.commit_failure(run);
                }
                Answer::Deadlock { limit } => {
                    run.take_back(sent);
                    let workflow = &run.workflow_type;
                    run.fail(
                        format!(
                            "workflow `{workflow}` did not give its thread back within {limit:?} (deadlock): workflow \
                             code must not block or loop; fix the code and deploy it, another build tries again"
                        ),
                        false,
                    );
                    owner.commit_failure(run);
                }
            }
        });
    }

    /// Replay goes by what was recorded; the code would have asked otherwise, and somebody may want to know.
    fn tell_drift(&self, run: &OwnedRun, drift: &[String]) {
        for difference in drift {
            self.shared.drift.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(workflow_id = %run.identity.workflow_id, "{difference}");
        }
    }

    fn commit_failure(&mut self, run: &mut OwnedRun) {
        let kinds = std::mem::take(&mut run.inputs);
        self.commit(run, CommitParts { kinds, ..CommitParts::default() });
    }

    /// Wakes the run when its next timer is due, while it is kept for other reasons.
    fn set_alarm(&self, run: &mut OwnedRun) {
        let Some(at) = run.next_timer else { return };
        if run.alarm.as_ref().is_some_and(|(set, _)| *set == at) {
            return;
        }
        if let Some((_, old)) = run.alarm.take() {
            old.abort();
        }
        let (shared, owner) = (Arc::clone(&self.shared), self.myself.clone());
        let (instance, epoch) = (run.instance, run.epoch);
        let task = self.shared.tasks.spawn(async move {
            shared.sleep(at.since(shared.database_now())).await;
            tell(&owner, Message::TimerDue { instance, epoch });
        });
        run.alarm = Some((at, task.abort_handle()));
    }
}

impl OwnedRun {
    /// Unread messages were read.
    pub(super) fn received(&mut self, messages: Vec<InboxMessage>) {
        self.reading_inbox = false;
        for message in messages {
            if message.seq > self.seen {
                self.seen = message.seq;
                self.inbox.push(message);
            }
        }
    }

    /// Unread messages become inputs.
    fn take_inbox(&mut self) -> Result<(), String> {
        for message in std::mem::take(&mut self.inbox) {
            let event = match message.kind {
                MessageKind::CancelRequest => Some(EventKind::WorkflowExecutionCancelRequested {
                    reason: String::from_utf8_lossy(&message.body).into_owned(),
                }),
                MessageKind::ActivityOutcome => {
                    let outcome = OutcomeMessage::decode(&message.body).map_err(|error| {
                        format!("message {} in the inbox cannot be read as an outcome: {error}", message.seq)
                    })?;
                    // The workflow went on in a new run before it was read: nobody waits for it any more.
                    outcome.for_run(self.identity.run_id)
                }
            };
            self.consumed = self.consumed.max(message.seq);
            let Some(event) = event else { continue };
            if let Some(id) = event.settled_activity() {
                self.rows.remove(&id);
            }
            self.inputs.push(event);
        }
        Ok(())
    }
}
