//! A provider that fails now and then, before a call or after it: the answer is lost.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use durable_core::id::{FlushId, Incarnation, InstanceId, WorkflowId};
use durable_core::provider::*;
use durable_core::time::Timestamp;

use crate::backend::Backend;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Every seventh call fails before, every eleventh after it was carried out. Kinds take turns.
    NowAndThen,
    /// Every commit is carried out and its answer lost, once.
    LoseCommits,
    /// Commits take their time: whatever does not wait for them overtakes them.
    SlowCommits,
}

/// What was seen of the calls.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    calls: AtomicU32,
    pub(crate) runs_claimed: AtomicU32,
    pub(crate) renewals: AtomicU32,
    pub(crate) commits_lost: AtomicU32,
    flushes: Mutex<HashSet<FlushId>>,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Backend,
    plan: Plan,
    seen: Arc<Seen>,
}

impl Faulty {
    pub(crate) fn new(inner: Backend, plan: Plan, seen: &Arc<Seen>) -> Self {
        Self { inner, plan, seen: Arc::clone(seen) }
    }

    fn fault(&self, call: u32, every: u32) -> ProviderResult<()> {
        if self.plan != Plan::NowAndThen || !call.is_multiple_of(every) {
            return Ok(());
        }
        let before = [ErrorKind::Busy, ErrorKind::Unavailable, ErrorKind::Conflict, ErrorKind::StorageFull];
        let kind = if every == 7 { before[(call / every % 4) as usize] } else { ErrorKind::Unavailable };
        Err(ProviderError::new(kind, "injected"))
    }

    async fn with<T>(&self, call: impl Future<Output = ProviderResult<T>>) -> ProviderResult<T> {
        let number = self.seen.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.fault(number, 7)?;
        let answer = call.await?;
        self.fault(number, 11)?;
        Ok(answer)
    }
}

#[async_trait]
impl WorkflowStore for Faulty {
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
        self.with(self.inner.workflow_start(starts)).await
    }
    async fn workflow_claim(&self, p: WorkflowClaim) -> ProviderResult<Claimed> {
        let claimed = self.with(self.inner.workflow_claim(p)).await?;
        let runs = u32::try_from(claimed.runs.len()).unwrap();
        self.seen.runs_claimed.fetch_add(runs, Ordering::SeqCst);
        Ok(claimed)
    }
    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        if self.plan == Plan::SlowCommits {
            for _ in 0..2_000 {
                tokio::task::yield_now().await;
            }
        }
        let flushes: Vec<_> = batch.commits.iter().map(|commit| commit.flush).collect();
        let answers = self.with(self.inner.workflow_commit(batch)).await?;
        if self.plan == Plan::LoseCommits {
            let mut known = self.seen.flushes.lock().unwrap();
            if flushes.into_iter().filter(|flush| known.insert(*flush)).count() > 0 {
                self.seen.commits_lost.fetch_add(1, Ordering::SeqCst);
                return Err(ProviderError::new(ErrorKind::Unavailable, "the answer is lost"));
            }
        }
        Ok(answers)
    }
}

#[async_trait]
impl ActivityQueue for Faulty {
    async fn activity_claim(&self, p: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>> {
        self.with(self.inner.activity_claim(p)).await
    }
    async fn activity_settle(
        &self,
        p: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>> {
        self.with(self.inner.activity_settle(p)).await
    }
    async fn activity_retry(&self, p: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>> {
        self.with(self.inner.activity_retry(p)).await
    }
}

#[async_trait]
impl Inbox for Faulty {
    async fn cancel_request(&self, p: CancelRequest) -> ProviderResult<SendOutcome> {
        self.with(self.inner.cancel_request(p)).await
    }
    async fn inbox_read(&self, p: InboxRead) -> ProviderResult<Vec<InboxMessage>> {
        self.with(self.inner.inbox_read(p)).await
    }
    async fn inbox_pending(&self, p: Incarnation) -> ProviderResult<Vec<InstanceId>> {
        self.with(self.inner.inbox_pending(p)).await
    }
}

#[async_trait]
impl Maintenance for Faulty {
    async fn lease_renew(&self, p: LeaseRenewal) -> ProviderResult<LeaseState> {
        self.seen.renewals.fetch_add(1, Ordering::SeqCst);
        self.with(self.inner.lease_renew(p)).await
    }
    async fn lease_reap(&self, p: SweepParams) -> ProviderResult<SweepReport> {
        self.with(self.inner.lease_reap(p)).await
    }
    async fn due_sweep(&self, p: SweepParams) -> ProviderResult<SweepReport> {
        self.with(self.inner.due_sweep(p)).await
    }
    async fn poll(&self, p: PollParams) -> ProviderResult<PollHint> {
        self.with(self.inner.poll(p)).await
    }
}

#[async_trait]
impl Inspect for Faulty {
    async fn instance_find(&self, p: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        self.with(self.inner.instance_find(p)).await
    }
    async fn instance_view(&self, p: InstanceId) -> ProviderResult<Option<InstanceView>> {
        self.with(self.inner.instance_view(p)).await
    }
    async fn history_read(&self, p: HistoryRead) -> ProviderResult<HistoryPage> {
        self.with(self.inner.history_read(p)).await
    }
}

#[async_trait]
impl Workers for Faulty {
    async fn worker_register(&self, p: WorkerRegistration) -> ProviderResult<Registered> {
        self.with(self.inner.worker_register(p)).await
    }
    async fn worker_deregister(&self, p: Incarnation) -> ProviderResult<()> {
        self.with(self.inner.worker_deregister(p)).await
    }
}

#[async_trait]
impl Schema for Faulty {
    async fn migrate(&self) -> ProviderResult<()> {
        self.inner.migrate().await
    }
    async fn clock(&self) -> ProviderResult<Timestamp> {
        self.with(self.inner.clock()).await
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
}
