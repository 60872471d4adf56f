//! Calls that wait for the write lock: the clock that decides is read once they have it (cases 5, 8, 12, 21).
//!
//! A second connection holds the lock, the call is begun and comes no further, time goes on, and what the lock's
//! holder changes meanwhile is what the call has to find.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use durable_core::id::{Incarnation, QueueName};
use durable_core::provider::{
    ActivityChange, ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ClaimedActivity,
    ClaimedRun, CommitBatch, Disposition, ErrorKind, LeaseRenewal, Maintenance, RunCommit, SweepParams,
    WorkflowClaim, WorkflowStore,
};
use durable_core::time::Timestamp;
use durable_sqlite::SqliteProvider;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, query, query_scalar};
use tempfile::TempDir;

use crate::dump::dump;
use crate::fixture::{batch, open, start};
use crate::world::{empty, row};

const HOUR: Duration = Duration::from_hours(1);

/// An owned run and a held row under a lease of an hour, all on the database's clock.
struct Scene {
    _directory: TempDir,
    path: PathBuf,
    provider: SqliteProvider,
    worker: Incarnation,
    run: ClaimedRun,
    row: ClaimedActivity,
}

impl Scene {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("durable.db");
        let provider = open(&path).await;
        start(&provider, "run", 10).await.unwrap();
        let worker = Incarnation::fresh();
        let run = crate::fixture::claim(&provider, worker, 1).await.unwrap().runs.remove(0);
        let insert = RunCommit { activities: vec![ActivityChange::Insert(row(1))], ..empty(&run) };
        provider.workflow_commit(flush(worker, insert)).await.unwrap().remove(0).unwrap();
        let claim = ActivityClaim {
            isolate_at: u32::MAX,
            incarnation: worker,
            queue: QueueName::default_queue(),
            types: vec!["charge".to_owned()],
            limit: 1,
            lease: HOUR,
            now: None,
        };
        let row = provider.activity_claim(claim).await.unwrap().remove(0);
        Self { _directory: directory, path, provider, worker, run, row }
    }

    fn renewal(&self, lease: Duration) -> LeaseRenewal {
        LeaseRenewal {
            incarnation: self.worker,
            instances: vec![(self.run.instance, self.run.epoch)],
            activities: vec![(self.row.row, self.row.epoch)],
            lease,
            now: None,
        }
    }

    /// The lease of the row goes on for another hour.
    async fn lengthen(&self) {
        let longer = "UPDATE activities SET lease_expires_at = :now + 3600000000";
        Holder::take(&self.path).await.release_after(longer).await;
    }

    /// Makes a call that finds the write lock taken, and lets it go on after `change`.
    async fn held_up<T>(&self, call: impl Future<Output = T>, change: &str) -> (T, Timestamp) {
        let mut call = pin!(call);
        let mut holder = Holder::take(&self.path).await;
        assert!(once(call.as_mut()).await.is_none(), "the call did not wait for the lock");
        let released_at = holder.release_after(change).await;
        (call.await, released_at)
    }
}

fn flush(worker: Incarnation, commit: RunCommit) -> CommitBatch {
    CommitBatch { incarnation: worker, commits: vec![commit], lease: HOUR, now: None }
}

/// Polls a future once.
async fn once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Somebody who holds the write lock.
struct Holder {
    connection: SqliteConnection,
    since: i64,
}

impl Holder {
    async fn take(path: &Path) -> Self {
        let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
        query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
        let since = now(&mut connection).await;
        Self { connection, since }
    }

    /// Lets the database's clock move on well beyond the moment at which the waiting call was made, runs `change`
    /// (`:now` is that later time) and releases the lock.
    async fn release_after(&mut self, change: &str) -> Timestamp {
        const MOVED: i64 = 50_000;
        let mut later = self.since;
        while later < self.since + MOVED {
            later = now(&mut self.connection).await;
        }
        for statement in change.split(';') {
            let statement = statement.replace(":now", &later.to_string());
            query(AssertSqlSafe(statement)).execute(&mut self.connection).await.unwrap();
        }
        query("COMMIT").execute(&mut self.connection).await.unwrap();
        Timestamp::from_micros(later)
    }
}

async fn now(connection: &mut SqliteConnection) -> i64 {
    let statement = include_str!("../../sql/clock_read.sql");
    query_scalar(statement).bind(None::<i64>).fetch_one(connection).await.unwrap()
}

/// The leases end now, by the clock of whoever holds the lock.
const EXPIRE: &str =
    "UPDATE instances SET lease_expires_at = :now; UPDATE activities SET lease_expires_at = :now";

#[tokio::test]
async fn the_clock_is_read_when_the_lock_is_held() {
    let scene = Scene::new().await;
    let claim = WorkflowClaim {
        isolate_at: u32::MAX,
        incarnation: scene.worker,
        queue: QueueName::default_queue(),
        limit: 1,
        lease: HOUR,
        max_claims: 9,
        now: None,
    };
    let (claimed, released_at) = scene.held_up(scene.provider.workflow_claim(claim), "SELECT 1").await;
    assert!(claimed.unwrap().now >= released_at);
    let keep = flush(scene.worker, empty(&scene.run));
    let (kept, released_at) = scene.held_up(scene.provider.workflow_commit(keep), "SELECT 1").await;
    assert!(kept.unwrap().remove(0).unwrap().now >= released_at);
}

#[tokio::test]
async fn a_renewal_that_waited_for_the_lock_revives_no_expired_lease() {
    let scene = Scene::new().await;
    let (renewed, _) = scene.held_up(scene.provider.lease_renew(scene.renewal(HOUR)), EXPIRE).await;
    let renewed = renewed.unwrap();
    assert_eq!(renewed.lost_instances, [scene.run.instance]);
    assert_eq!(renewed.lost_activities, [scene.row.row]);
    let reaped = scene.provider.lease_reap(SweepParams { limit: 9, now: None }).await.unwrap();
    assert_eq!((reaped.instances, reaped.activities), (1, 1));
}

#[tokio::test]
async fn a_renewal_that_waited_for_the_lock_shortens_no_lease() {
    let scene = Scene::new().await;
    let lengthened = "UPDATE instances SET lease_expires_at = :now + 86400000000;
        UPDATE activities SET lease_expires_at = :now + 86400000000";
    let (renewed, _) = scene.held_up(scene.provider.lease_renew(scene.renewal(HOUR)), lengthened).await;
    assert!(renewed.unwrap().lost_instances.is_empty());
    let keep = flush(scene.worker, empty(&scene.run));
    scene.provider.workflow_commit(keep).await.unwrap().remove(0).unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&scene.path).connect().await.unwrap();
    let limit = now(&mut connection).await + 80_000_000_000;
    for table in ["instances", "activities"] {
        let end: i64 = query_scalar(AssertSqlSafe(format!("SELECT lease_expires_at FROM {table}")))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(end > limit, "{table}");
    }
}

#[tokio::test]
async fn a_write_that_waited_past_its_lease_is_refused_and_leaves_nothing() {
    let scene = Scene::new().await;
    let turn =
        RunCommit { history: vec![batch(2, 1, 10)], disposition: Disposition::Yield, ..empty(&scene.run) };
    let commit = scene.provider.workflow_commit(flush(scene.worker, turn));
    let (answer, _) = scene.held_up(commit, EXPIRE).await;
    assert_eq!(answer.unwrap().remove(0).unwrap_err().kind(), ErrorKind::LeaseLost);
    let before = dump(scene.path.clone()).await;
    let outcome = ActivityOutcome {
        row: scene.row.row,
        epoch: scene.row.epoch,
        incarnation: scene.worker,
        message: "outcome".into(),
        now: None,
    };
    let retry = ActivityRetry {
        row: scene.row.row,
        epoch: scene.row.epoch,
        incarnation: scene.worker,
        attempts: 2,
        last_failure: None,
        delay: HOUR,
        now: None,
    };
    // Alive when the call is made, over when it has the lock.
    scene.lengthen().await;
    let settle = scene.provider.activity_settle(vec![outcome]);
    let (answer, _) = scene.held_up(settle, EXPIRE).await;
    assert_eq!(answer.unwrap().remove(0).unwrap_err().kind(), ErrorKind::LeaseLost);
    scene.lengthen().await;
    let retry = scene.provider.activity_retry(vec![retry]);
    let (answer, _) = scene.held_up(retry, EXPIRE).await;
    assert_eq!(answer.unwrap().remove(0).unwrap_err().kind(), ErrorKind::LeaseLost);
    let without_leases = |dump: &str| -> Vec<String> {
        dump.split_whitespace()
            .filter(|word| !word.starts_with("lease_expires_at="))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(without_leases(&dump(scene.path.clone()).await), without_leases(&before));
}

#[tokio::test]
async fn what_becomes_due_while_a_sweep_waits_for_the_lock_is_swept() {
    let scene = Scene::new().await;
    let wait = RunCommit {
        disposition: Disposition::Wait { wake_at: Some(scene.row.now.plus(HOUR)) },
        ..empty(&scene.run)
    };
    scene.provider.workflow_commit(flush(scene.worker, wait)).await.unwrap().remove(0).unwrap();
    let sweep = SweepParams { limit: 9, now: None };
    let due = "UPDATE instances SET wake_at = :now; UPDATE activities SET lease_expires_at = :now";
    let (swept, _) = scene.held_up(scene.provider.due_sweep(sweep), due).await;
    assert_eq!(swept.unwrap().instances, 1);
    let (reaped, _) = scene
        .held_up(scene.provider.lease_reap(sweep), "UPDATE activities SET lease_expires_at = :now")
        .await;
    assert_eq!(reaped.unwrap().activities, 1);
}
