//! Short ways to call a provider.

use std::path::Path;
use std::time::Duration;

use durable_core::history::EncodedBatch;
use durable_core::id::{
    EventId, FlushId, IdSeed, InboxSeq, Incarnation, QueueName, RequestId, RunId, WorkflowId,
};
use durable_core::provider::{
    BlockChange, Claimed, ClaimedRun, CommitBatch, CommitReceipt, Disposition, IdPolicy, ProviderResult,
    RunCommit, Schema, StartOutcome, StartRun, WorkflowClaim, WorkflowStore,
};
use durable_sqlite::{SqliteOptions, SqliteProvider};

/// Opens and migrates the database at `path`.
pub(crate) async fn open(path: &Path) -> SqliteProvider {
    open_with(SqliteOptions::new(path)).await
}

pub(crate) async fn open_with(options: SqliteOptions) -> SqliteProvider {
    let provider = SqliteProvider::open(options).await.unwrap();
    provider.migrate().await.unwrap();
    provider
}

pub(crate) fn batch(first: u64, count: u64, size: usize) -> EncodedBatch {
    EncodedBatch { first: EventId(first), next: EventId(first + count), bytes: vec![7; size].into() }
}

/// A start whose first event has `size` bytes.
pub(crate) fn start_params(id: &str, size: usize) -> StartRun {
    StartRun {
        workflow_id: WorkflowId::new(id).unwrap(),
        workflow_type: "checkout".to_owned(),
        input_digest: [7; 32],
        queue: QueueName::default_queue(),
        priority: 5,
        run_id: RunId::fresh(),
        seed: IdSeed::fresh(),
        request_id: RequestId::fresh(),
        history: batch(1, 1, size),
        policy: IdPolicy::UseExisting,
        now: None,
    }
}

pub(crate) async fn start(provider: &SqliteProvider, id: &str, size: usize) -> ProviderResult<StartOutcome> {
    provider.workflow_start(vec![start_params(id, size)]).await.map(|mut answers| answers.remove(0))?
}

pub(crate) async fn claim(
    provider: &SqliteProvider,
    worker: Incarnation,
    limit: u32,
) -> ProviderResult<Claimed> {
    let claim = WorkflowClaim {
        incarnation: worker,
        queue: QueueName::default_queue(),
        limit,
        lease: Duration::from_hours(1),
        max_claims: 10,
        isolate_at: u32::MAX,
        now: None,
    };
    provider.workflow_claim(claim).await
}

/// Commits one event of `size` bytes at `expected` and keeps the run.
pub(crate) async fn commit(
    provider: &SqliteProvider,
    worker: Incarnation,
    run: &ClaimedRun,
    expected: EventId,
    size: usize,
) -> ProviderResult<CommitReceipt> {
    let commit = RunCommit {
        instance: run.instance,
        run_id: run.run_id,
        epoch: run.epoch,
        expected_next: expected,
        flush: FlushId::fresh(),
        history: vec![batch(expected.0, 1, size)],
        consumed_through: InboxSeq(0),
        activities: Vec::new(),
        progress: true,
        block: BlockChange::Keep,
        disposition: Disposition::Keep,
    };
    let lease = Duration::from_hours(1);
    let batch = CommitBatch { incarnation: worker, commits: vec![commit], lease, now: None };
    provider.workflow_commit(batch).await.map(|mut answers| answers.remove(0))?
}
