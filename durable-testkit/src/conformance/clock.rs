//! Whose clock decides (G7). These cases alone run on the database's own clock: nobody passes a time in, so a
//! worker's clock has no way in, be it right or an hour off.

use std::time::Duration;

use durable_core::id::{InboxSeq, Incarnation, QueueName};
use durable_core::provider::{
    ActivityChange, ActivityClaim, BlockChange, ClaimedRun, CommitBatch, CommitReceipt, Disposition,
    ErrorKind, LeaseRenewal, PollParams, ProviderResult, RunCommit, StartRun, Status, SweepParams,
    WorkflowClaim,
};
use durable_core::time::Timestamp;

use super::activities::{outcome, retry};
use super::harness::{Harness, LEASE, at, refused, rows};

const HOUR: Duration = Duration::from_hours(1);

async fn start(harness: &Harness, id: &str) {
    harness.start_with(StartRun { now: None, ..Harness::start_params(id) }).await.unwrap();
}

async fn owned(harness: &Harness, id: &str, worker: Incarnation, lease: Duration) -> (ClaimedRun, Timestamp) {
    start(harness, id).await;
    let claim = WorkflowClaim { lease, now: None, ..Harness::claim_params(worker, at(0)) };
    let mut claimed = harness.provider().workflow_claim(claim).await.unwrap();
    assert_eq!(claimed.runs.len(), 1);
    (claimed.runs.remove(0), claimed.now)
}

async fn commit(harness: &Harness, worker: Incarnation, commit: RunCommit) -> ProviderResult<CommitReceipt> {
    let batch = CommitBatch { incarnation: worker, commits: vec![commit], lease: LEASE, now: None };
    harness.provider().workflow_commit(batch).await.unwrap().remove(0)
}

fn activity_claim(worker: Incarnation, lease: Duration) -> ActivityClaim {
    ActivityClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: QueueName::default_queue(),
        types: vec!["charge".to_owned()],
        limit: 100,
        lease,
        now: None,
    }
}

fn renewal(worker: Incarnation, runs: &[&ClaimedRun], lease: Duration) -> LeaseRenewal {
    LeaseRenewal {
        incarnation: worker,
        instances: runs.iter().map(|run| (run.instance, run.epoch)).collect(),
        activities: Vec::new(),
        lease,
        now: None,
    }
}

fn poll(worker: Incarnation) -> PollParams {
    PollParams {
        incarnation: worker,
        queues: vec![QueueName::default_queue()],
        activity_types: vec!["charge".to_owned()],
        now: None,
    }
}

/// G7: the time in every answer, and every stored one, lies between two looks at the database's clock.
pub async fn every_answer_tells_the_databases_time(harness: &Harness) {
    let provider = harness.provider();
    let before = provider.clock().await.unwrap();
    let worker = Incarnation::fresh();
    let mut registration = Harness::registration(None, "b1", at(0));
    registration.now = None;
    let mut told = vec![provider.worker_register(registration).await.unwrap().now];
    let (run, claimed) = owned(harness, "run", worker, LEASE).await;
    told.push(claimed);
    let insert = RunCommit {
        activities: vec![ActivityChange::Insert(Harness::row(1))],
        ..Harness::commit_params(&run)
    };
    told.push(commit(harness, worker, insert).await.unwrap().now);
    told.push(provider.lease_renew(renewal(worker, &[&run], LEASE)).await.unwrap().now);
    told.push(provider.poll(poll(worker)).await.unwrap().now);
    told.push(provider.activity_claim(activity_claim(worker, LEASE)).await.unwrap()[0].now);
    let close = RunCommit {
        disposition: Disposition::Close { status: Status::Completed, outcome: bytes::Bytes::new() },
        ..Harness::commit_params(&run)
    };
    told.push(commit(harness, worker, close).await.unwrap().now);
    let view = harness.view(run.instance).await;
    told.extend([view.created_at, view.closed_at.unwrap()]);
    let after = provider.clock().await.unwrap();
    assert!(told.iter().all(|&now| before <= now && now <= after), "{before} {told:?} {after}");
}

/// G3, G7: a lease that is over by the database's clock carries nothing any more, though nobody reaped it; one
/// that is not over is nobody else's.
pub async fn a_lease_ends_by_the_databases_clock(harness: &Harness) {
    let provider = harness.provider();
    let worker = Incarnation::fresh();
    let (held, _) = owned(harness, "held", worker, HOUR).await;
    let insert = vec![ActivityChange::Insert(Harness::row(1)), ActivityChange::Insert(Harness::row(2))];
    let insert = RunCommit { activities: insert, ..Harness::commit_params(&held) };
    commit(harness, worker, insert).await.unwrap();
    let rows_held = provider.activity_claim(activity_claim(worker, Duration::ZERO)).await.unwrap();
    let (over, _) = owned(harness, "over", worker, Duration::ZERO).await;
    let stored = harness.stored(&[held.instance, over.instance]).await;

    let late = RunCommit { history: rows(over.next_event, 1), ..Harness::commit_params(&over) };
    refused(commit(harness, worker, late).await, ErrorKind::LeaseLost);
    let end = outcome(&rows_held[0], worker, at(0));
    let end = durable_core::provider::ActivityOutcome { now: None, ..end };
    refused(provider.activity_settle(vec![end]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    let again = retry(&rows_held[1], worker, HOUR, at(0));
    let again = durable_core::provider::ActivityRetry { now: None, ..again };
    refused(provider.activity_retry(vec![again]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    let renewals = LeaseRenewal {
        activities: rows_held.iter().map(|row| (row.row, row.epoch)).collect(),
        ..renewal(worker, &[&over], HOUR)
    };
    let lost = provider.lease_renew(renewals).await.unwrap();
    assert_eq!((lost.lost_instances, lost.lost_activities.len()), (vec![over.instance], 2));
    assert_eq!(harness.stored(&[held.instance, over.instance]).await, stored);

    assert!(provider.poll(poll(worker)).await.unwrap().expired);
    let reaped = provider.lease_reap(SweepParams { limit: 100, now: None }).await.unwrap();
    assert_eq!((reaped.instances, reaped.activities), (1, 2));
    let kept = provider.lease_renew(renewal(worker, &[&held, &over], Duration::ZERO)).await.unwrap();
    assert_eq!(kept.lost_instances, [over.instance]);
    commit(harness, worker, Harness::commit_params(&held)).await.unwrap();
}

/// G7: delays become due times by the database's clock; a due time that a worker computed (a timer, from the
/// recorded time of its turn) is compared with that clock and no other.
pub async fn delays_and_timers_are_due_by_the_databases_clock(harness: &Harness) {
    let provider = harness.provider();
    let worker = Incarnation::fresh();
    let now = provider.clock().await.unwrap();
    let (past, future) = (Timestamp::from_micros(now.as_micros() - micros(HOUR)), now.plus(HOUR));
    let blocked = |delay| Disposition::Block { retry_after: Some(delay) };
    for (id, disposition, status) in [
        ("past", Disposition::Wait { wake_at: Some(past) }, Status::Runnable),
        ("future", Disposition::Wait { wake_at: Some(future) }, Status::Waiting),
        ("at once", blocked(Duration::ZERO), Status::Blocked),
        ("later", blocked(HOUR), Status::Blocked),
    ] {
        // Out of the way of the claims of the other rounds.
        let queue = QueueName::new(id).unwrap();
        let start = StartRun { queue: queue.clone(), now: None, ..Harness::start_params(id) };
        harness.start_with(start).await.unwrap();
        let claim = WorkflowClaim { queue, now: None, ..Harness::claim_params(worker, at(0)) };
        let run = provider.workflow_claim(claim).await.unwrap().runs.remove(0);
        let block = BlockChange::Set {
            reason: "why".to_owned(),
            build: durable_core::id::BuildId::new("b1").unwrap(),
        };
        let release = RunCommit { block, disposition, ..Harness::commit_params(&run) };
        assert_eq!(commit(harness, worker, release).await.unwrap().status, status, "{id}");
    }
    let (run, _) = owned(harness, "rows", worker, LEASE).await;
    let mut later = Harness::row(2);
    later.delay = HOUR;
    let rows = vec![ActivityChange::Insert(Harness::row(1)), ActivityChange::Insert(later)];
    let wait = RunCommit {
        activities: rows,
        consumed_through: InboxSeq(0),
        disposition: Disposition::Wait { wake_at: None },
        ..Harness::commit_params(&run)
    };
    commit(harness, worker, wait).await.unwrap();
    let claimed = provider.activity_claim(activity_claim(worker, LEASE)).await.unwrap();
    assert_eq!(claimed.iter().map(|row| row.command.0).collect::<Vec<_>>(), [1]);
    assert_eq!(provider.due_sweep(SweepParams { limit: 100, now: None }).await.unwrap().instances, 1);
    let next = provider.poll(poll(worker)).await.unwrap().next_due.unwrap();
    assert_eq!(next, future, "the timer; what was delayed by an hour since then comes after it");
}

fn micros(duration: Duration) -> i64 {
    durable_core::time::micros(duration)
}
