//! Durable activity rows: claimed, run, settled or given back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attempts::{self, Attempt, Task, Verdict, judge};
use super::gate::Suspicion;
use super::message::{HeldRow, Message};
use super::outcome_message::OutcomeMessage;
use super::shared::Shared;
use crate::history::{EventKind, Failure, FailureKind};
use crate::id::ActivityRowId;
use crate::limits::LOST_ATTEMPTS_MAX;
use crate::provider::{
    ActivityOutcome, ActivityRetry, ClaimedActivity, ErrorKind, ProviderError, ProviderResult,
};

/// The rows that this worker holds.
pub(super) struct Rows {
    shared: Arc<Shared>,
    owner: UnboundedSender<Message>,
    held: Mutex<BTreeMap<ActivityRowId, (HeldRow, CancellationToken)>>,
    running: TaskTracker,
}

impl Rows {
    pub(super) fn new(shared: Arc<Shared>, owner: UnboundedSender<Message>) -> Arc<Self> {
        Arc::new(Self { shared, owner, held: Mutex::default(), running: TaskTracker::new() })
    }

    /// What is to be renewed.
    pub(super) fn held(&self) -> Vec<HeldRow> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(row, _)| *row).collect()
    }

    /// These rows belong to somebody else, or are gone: their attempts are told.
    pub(super) fn lost(&self, rows: &[HeldRow]) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            if held.get(&row.0).is_some_and(|(now, _)| now == row)
                && let Some((_, cancel)) = held.remove(&row.0)
            {
                tracing::info!(row = %row.0, "an activity is no longer wanted here");
                cancel.cancel();
            }
        }
    }

    /// Returns when no row is held.
    pub(super) async fn quiet(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Runs a claimed row; the permit is its slot.
    pub(super) fn run(
        self: &Arc<Self>,
        row: ClaimedActivity,
        permit: OwnedSemaphorePermit,
        suspicion: Option<Suspicion>,
    ) {
        let cancel = CancellationToken::new();
        let held = ((row.row, row.epoch), cancel.clone());
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(row.row, held);
        let rows = Arc::clone(self);
        self.shared.tasks.spawn(self.running.track_future(async move {
            let (id, epoch) = (row.row, row.epoch);
            rows.carry_out(row, cancel, suspicion.is_some()).await;
            drop((permit, suspicion));
            let mut held = rows.held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.get(&id).is_some_and(|((_, now), _)| *now == epoch) {
                held.remove(&id);
            }
            drop(held);
            rows.shared.poll_now.notify_one();
        }));
    }

    async fn carry_out(&self, row: ClaimedActivity, cancel: CancellationToken, suspect: bool) {
        let task: Task = match serde_json::from_slice(&row.task) {
            Ok(task) => task,
            Err(error) => {
                let text = format!("the stored task of the activity cannot be read: {error}");
                let failure = Failure::new(FailureKind::Refused, text).terminal();
                let event =
                    EventKind::ActivityTaskFailed { id: row.command, attempt: row.attempts.max(1), failure };
                return self.settle(&row, event).await;
            }
        };
        let used_up = !task.options.retry.allows_another(row.attempts) || row.lost >= LOST_ATTEMPTS_MAX;
        if row.lost > 0 && used_up && row.backoff_due {
            return self.settle(&row, attempts::lost(row.command, row.attempts, row.lost)).await;
        }
        let overdue = row.deadline.is_some_and(|deadline| deadline <= row.now);
        if row.backoff_due && !overdue {
            let delay = task.options.retry.jittered_delay(row.attempts, task.jitter);
            return self.give_back(&row, row.attempts, None, delay).await;
        }
        let number = row.attempts.saturating_add(1);
        let end = if overdue {
            attempts::schedule_to_close()
        } else {
            let pass = self.shared.gate.enter(suspect).await;
            let attempt = Attempt {
                workflow_id: row.workflow_id.clone(),
                run_id: row.run_id,
                command: row.command,
                activity_type: row.activity_type.clone(),
                task: task.clone(),
                number,
                deadline: row.deadline,
                cancel: cancel.clone(),
            };
            let end = attempts::make(&self.shared, attempt).await;
            drop(pass);
            end
        };
        match judge(row.command, number, &task, end) {
            Verdict::Ended(event) => self.settle(&row, event).await,
            Verdict::Retry { delay, failure } => self.give_back(&row, number, Some(failure), delay).await,
            // The worker was dropped, like a crash: the lease decides, and the attempt counts as lost.
            Verdict::Nothing if self.shared.stopped.is_cancelled() => {}
            // The worker ends in order: the attempt does not count, the row is free for others.
            Verdict::Nothing => self.give_back(&row, row.attempts, None, Duration::ZERO).await,
        }
    }

    async fn settle(&self, row: &ClaimedActivity, event: EventKind) {
        let message = match OutcomeMessage::encode(row.run_id, event) {
            Ok(message) => message,
            Err(error) => return tracing::error!(row = %row.row, %error, "an outcome cannot be encoded"),
        };
        let outcome = ActivityOutcome {
            row: row.row,
            epoch: row.epoch,
            incarnation: self.shared.incarnation,
            message,
            now: self.shared.now_override(),
        };
        let call = || self.shared.provider.activity_settle(vec![outcome.clone()]);
        if let Some(settled) = self.insist("activity_settle", row, call).await {
            if self.owner.send(Message::InboxHint(settled.instance)).is_err() {
                tracing::debug!(row = %row.row, "settled after the worker had ended");
            }
            self.shared.wakeups.wake_pollers();
        }
    }

    async fn give_back(
        &self,
        row: &ClaimedActivity,
        attempts: u32,
        failure: Option<Failure>,
        delay: Duration,
    ) {
        let last_failure = match failure.map(|failure| serde_json::to_vec(&failure)).transpose() {
            Ok(bytes) => bytes.map(Bytes::from),
            Err(error) => {
                tracing::error!(row = %row.row, %error, "a failure cannot be encoded, its text is not kept");
                None
            }
        };
        let retry = ActivityRetry {
            row: row.row,
            epoch: row.epoch,
            incarnation: self.shared.incarnation,
            attempts,
            last_failure,
            delay,
            now: self.shared.now_override(),
        };
        let call = || self.shared.provider.activity_retry(vec![retry.clone()]);
        if self.insist("activity_retry", row, call).await.is_some() {
            self.shared.wakeups.wake_pollers();
        }
    }

    /// Makes a call of one member until it has an answer. A lost lease is an answer: somebody else decides.
    async fn insist<T, F>(&self, what: &str, row: &ClaimedActivity, call: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = ProviderResult<Vec<ProviderResult<T>>>>,
    {
        for attempt in 0_u32.. {
            let missing = || ProviderError::new(ErrorKind::Corrupt, "the provider gave no answer");
            let answer = call().await.and_then(|mut answers| answers.pop().unwrap_or_else(|| Err(missing())));
            let error = match answer {
                Ok(answer) => return Some(answer),
                Err(error) => error,
            };
            if error.kind() == ErrorKind::LeaseLost {
                tracing::info!(what, row = %row.row, "the activity is no longer ours; its outcome is dropped");
                return None;
            }
            if !error.kind().is_transient() || self.shared.stopped.is_cancelled() {
                tracing::error!(what, row = %row.row, %error, "the outcome of an activity cannot be stored; its lease decides");
                return None;
            }
            self.shared.back_off(what, attempt, &error).await;
        }
        None
    }
}
