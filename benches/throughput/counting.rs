//! A provider that counts what the runtime asks of it, and changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use durable_core::history::EncodedBatch;
use durable_core::id::{Incarnation, InstanceId, WorkflowId};
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, CancelRequest, Claimed,
    ClaimedActivity, CommitBatch, CommitReceipt, HistoryPage, HistoryRead, Inbox, InboxMessage, InboxRead,
    Inspect, InstanceView, LeaseRenewal, LeaseState, Maintenance, OpenInstances, PollHint, PollParams,
    Provider, ProviderResult, Registered, Schema, SendOutcome, StartOutcome, StartRun, SweepParams,
    SweepReport, WorkerRegistration, Workers, WorkflowClaim, WorkflowStore,
};
use durable_core::time::Timestamp;

/// What was asked.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Calls that write commits of owners.
    pub(crate) flushes: AtomicU64,
    /// Commits that hold a finished turn.
    pub(crate) turns: AtomicU64,
    /// Calls that start runs.
    pub(crate) starts: AtomicU64,
    /// Calls that claim runs.
    pub(crate) claims: AtomicU64,
    /// Bytes of history that were written.
    pub(crate) history_bytes: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
}

fn bytes(batches: &[EncodedBatch]) -> usize {
    batches.iter().map(|batch| batch.bytes.len()).sum()
}

/// The counting provider.
#[derive(Debug)]
pub(crate) struct Counting<P> {
    inner: P,
    calls: Arc<Calls>,
}

impl<P: Provider> Counting<P> {
    pub(crate) fn new(inner: P) -> (Self, Arc<Calls>) {
        let calls = Arc::<Calls>::default();
        (Self { inner, calls: Arc::clone(&calls) }, calls)
    }
}

#[async_trait]
impl<P: Provider> WorkflowStore for Counting<P> {
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
        let written = starts.iter().map(|start| start.history.bytes.len()).sum();
        let answers = self.inner.workflow_start(starts).await?;
        add(&self.calls.starts, 1);
        add(&self.calls.history_bytes, written);
        Ok(answers)
    }

    async fn workflow_claim(&self, params: WorkflowClaim) -> ProviderResult<Claimed> {
        add(&self.calls.claims, 1);
        self.inner.workflow_claim(params).await
    }

    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        let turns = batch.commits.iter().filter(|commit| commit.progress).count();
        let written = batch.commits.iter().map(|commit| bytes(&commit.history)).sum();
        let answers = self.inner.workflow_commit(batch).await?;
        add(&self.calls.flushes, 1);
        add(&self.calls.turns, turns);
        add(&self.calls.history_bytes, written);
        Ok(answers)
    }
}

#[async_trait]
impl<P: Provider> ActivityQueue for Counting<P> {
    async fn activity_claim(&self, params: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>> {
        self.inner.activity_claim(params).await
    }

    async fn activity_settle(
        &self,
        outcomes: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>> {
        self.inner.activity_settle(outcomes).await
    }

    async fn activity_retry(&self, retries: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>> {
        self.inner.activity_retry(retries).await
    }
}

#[async_trait]
impl<P: Provider> Inbox for Counting<P> {
    async fn cancel_request(&self, params: CancelRequest) -> ProviderResult<SendOutcome> {
        self.inner.cancel_request(params).await
    }

    async fn inbox_read(&self, params: InboxRead) -> ProviderResult<Vec<InboxMessage>> {
        self.inner.inbox_read(params).await
    }

    async fn inbox_pending(&self, incarnation: Incarnation) -> ProviderResult<Vec<InstanceId>> {
        self.inner.inbox_pending(incarnation).await
    }
}

#[async_trait]
impl<P: Provider> Maintenance for Counting<P> {
    async fn lease_renew(&self, params: LeaseRenewal) -> ProviderResult<LeaseState> {
        self.inner.lease_renew(params).await
    }

    async fn lease_reap(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        self.inner.lease_reap(params).await
    }

    async fn due_sweep(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        self.inner.due_sweep(params).await
    }

    async fn poll(&self, params: PollParams) -> ProviderResult<PollHint> {
        self.inner.poll(params).await
    }
}

#[async_trait]
impl<P: Provider> Inspect for Counting<P> {
    async fn instance_find(&self, workflow_id: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        self.inner.instance_find(workflow_id).await
    }

    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>> {
        self.inner.instances_open(params).await
    }

    async fn instance_view(&self, instance: InstanceId) -> ProviderResult<Option<InstanceView>> {
        self.inner.instance_view(instance).await
    }

    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage> {
        self.inner.history_read(params).await
    }
}

#[async_trait]
impl<P: Provider> Workers for Counting<P> {
    async fn worker_register(&self, params: WorkerRegistration) -> ProviderResult<Registered> {
        self.inner.worker_register(params).await
    }

    async fn worker_deregister(&self, incarnation: Incarnation) -> ProviderResult<()> {
        self.inner.worker_deregister(incarnation).await
    }
}

#[async_trait]
impl<P: Provider> Schema for Counting<P> {
    async fn migrate(&self) -> ProviderResult<()> {
        self.inner.migrate().await
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        self.inner.clock().await
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}
