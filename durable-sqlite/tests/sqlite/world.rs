//! A small world with something of everything, and every write call on it, each changing as much as it can.

use std::time::Duration;

use durable_core::id::{
    BuildId, CommandId, FlushId, IdSeed, InboxSeq, Incarnation, InstanceId, QueueName, RequestId, RunId,
    SlotName,
};
use durable_core::provider::{
    ActivityChange, ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, BlockChange, CancelRequest,
    ClaimedActivity, ClaimedRun, CommitBatch, Disposition, Inbox, LeaseRenewal, Maintenance, NewActivityRow,
    NextRunStart, ProviderResult, RunCommit, StartRun, Status, SweepParams, WorkerRegistration, Workers,
    WorkflowClaim, WorkflowStore,
};
use durable_core::time::Timestamp;
use durable_sqlite::SqliteProvider;

use crate::fixture::{batch, start_params};

const LEASE: Duration = Duration::from_mins(1);

/// A write call of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Commit,
    Start,
    Claim,
    ActivityClaim,
    Settle,
    Retry,
    Cancel,
    Renew,
    Reap,
    Sweep,
    Register,
}

pub(crate) const CALLS: [Call; 11] = [
    Call::Commit,
    Call::Start,
    Call::Claim,
    Call::ActivityClaim,
    Call::Settle,
    Call::Retry,
    Call::Cancel,
    Call::Renew,
    Call::Reap,
    Call::Sweep,
    Call::Register,
];

impl Call {
    /// How many rows it changes at least.
    pub(crate) fn changes(self) -> usize {
        match self {
            Self::Commit => 15,
            Self::Start | Self::Settle => 6,
            Self::Claim | Self::Register | Self::Cancel => 3,
            Self::Renew | Self::Reap => 4,
            Self::ActivityClaim | Self::Retry | Self::Sweep => 2,
        }
    }
}

/// Points in time: seconds after the beginning.
fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(1_893_456_000_000_000).plus(Duration::from_secs(seconds))
}

#[derive(Debug)]
pub(crate) struct World {
    worker: Incarnation,
    /// Three runs that the worker owns, with messages and rows.
    owned: Vec<ClaimedRun>,
    /// Two rows that the worker holds.
    held: Vec<ClaimedActivity>,
    /// Drawn once: a call made again is the same call.
    commits: Vec<RunCommit>,
    starts: Vec<StartRun>,
    request: RequestId,
    successor: Incarnation,
}

impl World {
    /// Makes it, all at one point in time: three owned runs with messages and rows of which the worker holds two; two
    /// runnable runs, one to be dead-lettered; two that are due; one blocked by another build.
    pub(crate) async fn new(provider: &SqliteProvider) -> Self {
        let worker = Incarnation::fresh();
        register(provider, worker).await.unwrap();
        let owned = owned(provider, worker, &["a", "b", "c"]).await;
        for run in &owned {
            for _ in 0..2 {
                cancel(provider, run.instance, RequestId::fresh()).await.unwrap();
            }
            let rows = vec![ActivityChange::Insert(row(1)), ActivityChange::Insert(row(2))];
            commit(provider, worker, vec![RunCommit { activities: rows, ..empty(run) }]).await.unwrap();
        }
        let claim = ActivityClaim { limit: 2, ..activity_claim(worker) };
        let held = provider.activity_claim(claim).await.unwrap();
        let due =
            owned_and_released(provider, &["due-1", "due-2"], |_| Disposition::Wait { wake_at: Some(at(5)) });
        due.await;
        owned_and_released(provider, &["blocked"], |_| Disposition::Block { retry_after: None }).await;
        for _ in 0..2 {
            owned_and_released(provider, &["poison"], |_| Disposition::Yield).await;
        }
        let starts =
            ["runnable-1", "runnable-2"].map(|id| StartRun { now: Some(at(1)), ..start_params(id, 10) });
        provider.workflow_start(starts.to_vec()).await.unwrap();
        Self {
            worker,
            commits: vec![turn(&owned[0], 10), end(&owned[1]), go_on(&owned[2])],
            owned,
            held,
            starts: ["new-1", "new-2"]
                .map(|id| StartRun { now: Some(at(1)), ..start_params(id, 10) })
                .to_vec(),
            request: RequestId::fresh(),
            successor: Incarnation::fresh(),
        }
    }

    /// Makes a call; the same one each time.
    pub(crate) async fn call(&self, provider: &SqliteProvider, call: Call) -> ProviderResult<()> {
        match call {
            Call::Commit => commit(provider, self.worker, self.commits.clone()).await,
            Call::Start => all(provider.workflow_start(self.starts.clone()).await?),
            Call::Claim => {
                let claim = WorkflowClaim { limit: 3, max_claims: 2, ..workflow_claim(self.worker) };
                let claimed = provider.workflow_claim(claim).await?;
                assert_eq!((claimed.runs.len(), claimed.dead_lettered.len()), (2, 1));
                Ok(())
            }
            Call::ActivityClaim => {
                assert_eq!(provider.activity_claim(activity_claim(self.worker)).await?.len(), 4);
                Ok(())
            }
            Call::Settle => all(provider.activity_settle(self.outcomes()).await?),
            Call::Retry => all(provider.activity_retry(self.retries()).await?),
            Call::Cancel => cancel(provider, self.owned[0].instance, self.request).await,
            Call::Renew => {
                let lost = provider.lease_renew(self.renewal()).await?;
                assert!(lost.lost_instances.is_empty() && lost.lost_activities.is_empty());
                Ok(())
            }
            Call::Reap => {
                let reaped = provider.lease_reap(SweepParams { limit: 9, now: Some(at(100)) }).await?;
                assert_eq!((reaped.instances, reaped.activities), (3, 2));
                Ok(())
            }
            Call::Sweep => {
                let swept = provider.due_sweep(SweepParams { limit: 9, now: Some(at(5)) }).await?;
                assert_eq!(swept.instances, 2);
                Ok(())
            }
            Call::Register => {
                // As the system does when a process dies, and again after a try that failed.
                provider.kill(self.worker);
                register_at(provider, self.successor, "b2", at(2)).await
            }
        }
    }

    /// A turn of many rows and many pages.
    pub(crate) async fn large_commit(&self, provider: &SqliteProvider) -> ProviderResult<()> {
        let large = RunCommit { flush: FlushId::fresh(), ..turn(&self.owned[0], 60_000) };
        commit(provider, self.worker, vec![large, self.commits[1].clone(), self.commits[2].clone()]).await
    }

    fn outcomes(&self) -> Vec<ActivityOutcome> {
        let outcome = |row: &ClaimedActivity| ActivityOutcome {
            row: row.row,
            epoch: row.epoch,
            incarnation: self.worker,
            message: "outcome".into(),
            now: Some(at(2)),
        };
        self.held.iter().map(outcome).collect()
    }

    fn retries(&self) -> Vec<ActivityRetry> {
        let retry = |row: &ClaimedActivity| ActivityRetry {
            row: row.row,
            epoch: row.epoch,
            incarnation: self.worker,
            attempts: 2,
            last_failure: Some("failure".into()),
            delay: LEASE,
            now: Some(at(2)),
        };
        self.held.iter().map(retry).collect()
    }

    fn renewal(&self) -> LeaseRenewal {
        LeaseRenewal {
            incarnation: self.worker,
            instances: self.owned.iter().map(|run| (run.instance, run.epoch)).collect(),
            activities: self.held.iter().map(|row| (row.row, row.epoch)).collect(),
            lease: LEASE,
            now: Some(at(30)),
        }
    }
}

fn all<T>(answers: Vec<ProviderResult<T>>) -> ProviderResult<()> {
    answers.into_iter().try_for_each(|answer| answer.map(drop))
}

fn workflow_claim(worker: Incarnation) -> WorkflowClaim {
    WorkflowClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: QueueName::default_queue(),
        limit: 100,
        lease: LEASE,
        max_claims: 100,
        now: Some(at(1)),
    }
}

fn activity_claim(worker: Incarnation) -> ActivityClaim {
    ActivityClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: QueueName::default_queue(),
        types: vec!["charge".to_owned()],
        limit: 100,
        lease: LEASE,
        now: Some(at(1)),
    }
}

async fn owned(provider: &SqliteProvider, worker: Incarnation, ids: &[&str]) -> Vec<ClaimedRun> {
    let starts = ids.iter().map(|id| StartRun { now: Some(at(1)), ..start_params(id, 10) });
    provider.workflow_start(starts.collect()).await.unwrap();
    let runs = provider.workflow_claim(workflow_claim(worker)).await.unwrap().runs;
    assert_eq!(runs.len(), ids.len());
    runs
}

async fn owned_and_released(
    provider: &SqliteProvider,
    ids: &[&str],
    disposition: impl Fn(&ClaimedRun) -> Disposition,
) {
    let other = Incarnation::fresh();
    for run in owned(provider, other, ids).await {
        let block = match disposition(&run) {
            Disposition::Block { .. } => blocked(),
            _ => BlockChange::Keep,
        };
        let release = RunCommit { block, disposition: disposition(&run), ..empty(&run) };
        commit(provider, other, vec![release]).await.unwrap();
    }
}

fn blocked() -> BlockChange {
    BlockChange::Set { reason: "why".to_owned(), build: BuildId::new("b1").unwrap() }
}

pub(crate) fn row(command: u64) -> NewActivityRow {
    NewActivityRow {
        command: CommandId(command),
        activity_type: "charge".to_owned(),
        queue: QueueName::default_queue(),
        priority: 5,
        task: "task".into(),
        attempts: 1,
        lost: 0,
        delay: Duration::ZERO,
        deadline: None,
        last_failure: None,
    }
}

pub(crate) fn empty(run: &ClaimedRun) -> RunCommit {
    RunCommit {
        instance: run.instance,
        run_id: run.run_id,
        epoch: run.epoch,
        expected_next: run.next_event,
        flush: FlushId::fresh(),
        history: Vec::new(),
        consumed_through: InboxSeq(0),
        activities: Vec::new(),
        progress: false,
        block: BlockChange::Keep,
        disposition: Disposition::Keep,
    }
}

/// Rows of history, messages, rows made and removed, a reason; the run is released.
fn turn(run: &ClaimedRun, size: usize) -> RunCommit {
    RunCommit {
        history: vec![batch(2, 1, size), batch(3, 2, size)],
        consumed_through: InboxSeq(2),
        activities: vec![
            ActivityChange::Insert(row(3)),
            ActivityChange::Remove(CommandId(1)),
            ActivityChange::Insert(row(4)),
        ],
        progress: true,
        block: blocked(),
        disposition: Disposition::Wait { wake_at: Some(at(500)) },
        ..empty(run)
    }
}

/// The end of a run that still has messages and rows.
fn end(run: &ClaimedRun) -> RunCommit {
    RunCommit {
        history: vec![batch(2, 1, 10)],
        disposition: Disposition::Close { status: Status::Completed, outcome: "done".into() },
        ..empty(run)
    }
}

/// The end of a run whose instance goes on in another.
fn go_on(run: &ClaimedRun) -> RunCommit {
    let next = NextRunStart {
        run_id: RunId::fresh(),
        seed: IdSeed::fresh(),
        history: vec![batch(1, 1, 10), batch(2, 1, 10)],
    };
    RunCommit {
        history: vec![batch(2, 1, 10)],
        consumed_through: InboxSeq(1),
        disposition: Disposition::Continue { outcome: "went on".into(), next },
        ..empty(run)
    }
}

async fn commit(
    provider: &SqliteProvider,
    worker: Incarnation,
    commits: Vec<RunCommit>,
) -> ProviderResult<()> {
    let batch = CommitBatch { incarnation: worker, commits, lease: LEASE, now: Some(at(1)) };
    all(provider.workflow_commit(batch).await?)
}

async fn cancel(
    provider: &SqliteProvider,
    instance: InstanceId,
    request_id: RequestId,
) -> ProviderResult<()> {
    let request = CancelRequest { instance, reason: "why".to_owned(), request_id, now: Some(at(1)) };
    provider.cancel_request(request).await.map(drop)
}

async fn register(provider: &SqliteProvider, worker: Incarnation) -> ProviderResult<()> {
    register_at(provider, worker, "b1", at(0)).await
}

async fn register_at(
    provider: &SqliteProvider,
    incarnation: Incarnation,
    build: &str,
    now: Timestamp,
) -> ProviderResult<()> {
    let (slot, build) = (SlotName::new("blue").unwrap(), BuildId::new(build).unwrap());
    let registration = WorkerRegistration { slot: Some(slot), incarnation, build, now: Some(now) };
    provider.worker_register(registration).await.map(drop)
}
