//! A provider that fails now and then, before a call or after it: the answer is lost.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use durable_core::id::{Incarnation, InstanceId, WorkflowId};
use durable_core::provider::*;
use durable_core::time::Timestamp;

use crate::backend::Backend;

/// Every seventh call fails before, every eleventh after it was carried out. Kinds take turns.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: Backend,
    pub(crate) calls: AtomicU32,
    pub(crate) failed: AtomicU32,
}

impl Faulty {
    fn fault(&self, call: u32, every: u32) -> ProviderResult<()> {
        if !call.is_multiple_of(every) {
            return Ok(());
        }
        self.failed.fetch_add(1, Ordering::SeqCst);
        let before = [ErrorKind::Busy, ErrorKind::Unavailable, ErrorKind::Conflict, ErrorKind::StorageFull];
        let kind = if every == 7 { before[(call / every % 4) as usize] } else { ErrorKind::Unavailable };
        Err(ProviderError::new(kind, "injected"))
    }

    async fn with<T>(&self, call: impl Future<Output = ProviderResult<T>>) -> ProviderResult<T> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
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
        self.with(self.inner.workflow_claim(p)).await
    }
    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        self.with(self.inner.workflow_commit(batch)).await
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
