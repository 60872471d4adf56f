//! Connections that die in the middle: every commit is resolved by its flush id, both ways (G4), and every wait for a
//! lock ends by the clock that is read after it (G7).

use std::time::Duration;

use durable_core::id::{EventId, Incarnation};
use durable_core::provider::{
    CommitBatch, ErrorKind, HistoryRead, Inspect as _, LeaseRenewal, Maintenance as _, Registered, RunCommit,
    Schema as _, SweepParams, WorkerRegistration, Workers as _, WorkflowClaim, WorkflowStore as _,
};
use durable_core::time::Timestamp;
use durable_postgres::{PostgresOptions, PostgresProvider};
use durable_testkit::postgres::PostgresServer;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, Row as _};

use crate::fixture::{Database, claim_params, commit, commit_params, owned, start_params};

async fn events(provider: &PostgresProvider, run: &durable_core::provider::ClaimedRun) -> u64 {
    let read = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    let rows = provider.history_read(read).await.unwrap().rows.len() as u64;
    assert_eq!(provider.instance_view(run.instance).await.unwrap().unwrap().events, rows);
    rows
}

/// The server process of this application that waits for what `event` names.
async fn waiting(observer: &mut PgConnection, application: &str, event: &str) -> Option<i32> {
    sqlx::query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type || '/' || wait_event LIKE $2",
    )
    .bind(application)
    .bind(event)
    .fetch_optional(observer)
    .await
    .unwrap()
    .map(|row| row.get(0))
}

async fn terminate(observer: &mut PgConnection, pid: i32) {
    sqlx::query("SELECT pg_terminate_backend($1, 60000)").bind(pid).execute(observer).await.unwrap();
}

/// The commit is on disk and waits for a standby that never answers when its connection is killed: the caller
/// hears nothing, and its retry finds its own flush.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_is_found_by_its_flush_id() {
    let server = PostgresServer::start(&["fsync=off"]);
    let mut observer = server.url().parse::<PgConnectOptions>().unwrap().connect().await.unwrap();
    let url = format!("{}&application_name=lost", server.url());
    let provider = PostgresProvider::open(PostgresOptions::parse(&url).unwrap()).await.unwrap();
    provider.migrate().await.unwrap();
    let worker = Incarnation::fresh();
    let run = owned(&provider, worker, 1).await.remove(0);
    sqlx::raw_sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        .execute(&mut observer)
        .await
        .unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut observer).await.unwrap();
    let (mut next, mut lost) = (run.next_event, None);
    // Until the server has read its new settings, commits still succeed.
    while lost.is_none() {
        let one = commit_params(&run, next);
        let (other, again) = (provider.clone(), one.clone());
        let writing = tokio::spawn(async move { commit(&other, worker, vec![again]).await });
        while !writing.is_finished() {
            if let Some(pid) = waiting(&mut observer, "lost", "IPC/SyncRep").await {
                terminate(&mut observer, pid).await;
                break;
            }
        }
        match writing.await.unwrap() {
            Ok(answers) => next = answers.into_iter().next().unwrap().unwrap().next_event,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                lost = Some(one);
            }
        }
    }
    sqlx::raw_sql("ALTER SYSTEM RESET synchronous_standby_names").execute(&mut observer).await.unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut observer).await.unwrap();
    assert_eq!(events(&provider, &run).await, next.0, "it was written before its answer was lost");
    let lost = lost.unwrap();
    let receipt = commit(&provider, worker, vec![lost.clone()]).await.unwrap().remove(0).unwrap();
    assert_eq!(receipt.next_event, next.next());
    assert_eq!(events(&provider, &run).await, next.0, "and not a second time");
    let other = RunCommit { flush: durable_core::id::FlushId::fresh(), ..lost };
    let refused = commit(&provider, worker, vec![other]).await.unwrap().remove(0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LeaseLost);
}

/// The connection dies before the commit is written: nothing is there, and the retry writes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_happened_is_made_by_its_retry() {
    let database = Database::new().with_parameter("application_name=never");
    let provider = database.provider(|options| options).await;
    let worker = Incarnation::fresh();
    let run = owned(&provider, worker, 1).await.remove(0);
    let (mut observer, mut blocker) = (database.connect().await, database.connect().await);
    let lock = format!("BEGIN; SELECT 1 FROM \"{}\".instances FOR UPDATE", database.schema());
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
    let one = commit_params(&run, run.next_event);
    let (other, again) = (provider.clone(), one.clone());
    let writing = tokio::spawn(async move { commit(&other, worker, vec![again]).await });
    while !writing.is_finished() {
        if let Some(pid) = waiting(&mut observer, "never", "Lock/%").await {
            terminate(&mut observer, pid).await;
            break;
        }
    }
    assert_eq!(writing.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    sqlx::raw_sql("ROLLBACK").execute(&mut blocker).await.unwrap();
    assert_eq!(events(&provider, &run).await, 1);
    commit(&provider, worker, vec![one]).await.unwrap().remove(0).unwrap();
    assert_eq!(events(&provider, &run).await, 2);
}

/// Connections are killed at any moment while eight runs are written: each commit is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_under_killed_connections_land_exactly_once() {
    const COMMITS: u64 = 100;
    let database = Database::new().with_parameter("application_name=killed");
    let provider = database.provider(|options| options).await;
    let worker = Incarnation::fresh();
    let runs = owned(&provider, worker, 8).await;
    let writers: Vec<_> = runs
        .iter()
        .cloned()
        .map(|run| {
            let provider = provider.clone();
            tokio::spawn(async move {
                let (mut next, mut failures) = (run.next_event, 0_u32);
                for _ in 0..COMMITS {
                    let one = commit_params(&run, next);
                    next = loop {
                        match commit(&provider, worker, vec![one.clone()]).await {
                            Ok(answers) => break answers.into_iter().next().unwrap().unwrap().next_event,
                            Err(error) => assert!(error.kind().is_transient(), "{error}"),
                        }
                        failures += 1;
                    };
                }
                failures
            })
        })
        .collect();
    let (mut observer, mut kills) = (database.connect().await, 0_u32);
    while writers.iter().any(|writer| !writer.is_finished()) {
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE \
                    application_name = 'killed' ORDER BY random() LIMIT 1) AS victim";
        let row = sqlx::query(kill).fetch_one(&mut observer).await.unwrap();
        kills += u32::try_from(row.get::<i64, _>(0)).unwrap();
        // Some commits come through between two kills.
        let view = provider.instance_view(runs[0].instance).await;
        assert!(view.is_ok() || view.unwrap_err().kind().is_transient());
    }
    let mut failures = 0;
    for writer in writers {
        failures += writer.await.unwrap();
    }
    println!("{kills} kills, {failures} commits without an answer");
    for run in &runs {
        assert_eq!(events(&provider, run).await, COMMITS + 1);
    }
}

/// G7: a flush that waited for a lock longer than its lease lasts is refused: the clock is read behind the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_waited_past_its_lease_is_refused() {
    let database = Database::new().with_parameter("application_name=late");
    let provider = database.provider(|options| options).await;
    let worker = Incarnation::fresh();
    provider.workflow_start(vec![start_params("run")]).await.unwrap().remove(0).unwrap();
    let lease = Duration::from_millis(300);
    let claimed = provider.workflow_claim(WorkflowClaim { lease, ..claim_params(worker, 1) }).await.unwrap();
    let (run, end) = (claimed.runs[0].clone(), claimed.now.plus(lease));
    let (mut observer, mut blocker) = (database.connect().await, database.connect().await);
    let lock = format!("BEGIN; SELECT 1 FROM \"{}\".instances FOR UPDATE", database.schema());
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
    let (other, one) = (provider.clone(), commit_params(&run, run.next_event));
    let writing = tokio::spawn(async move { commit(&other, worker, vec![one]).await });
    while waiting(&mut observer, "late", "Lock/%").await.is_none() {}
    // Neither a renewal nor the reaper waits for the lock, and what is locked is not lost yet.
    let renewal = || LeaseRenewal {
        incarnation: worker,
        instances: vec![(run.instance, run.epoch)],
        activities: Vec::new(),
        lease: Duration::from_hours(1),
        now: None,
    };
    assert!(provider.lease_renew(renewal()).await.unwrap().lost_instances.is_empty());
    while provider.clock().await.unwrap() < end {}
    assert_eq!(provider.lease_reap(SweepParams { limit: 9, now: None }).await.unwrap().instances, 0);
    assert_eq!(provider.lease_renew(renewal()).await.unwrap().lost_instances, [run.instance]);
    sqlx::raw_sql("ROLLBACK").execute(&mut blocker).await.unwrap();
    let refused = writing.await.unwrap().unwrap().remove(0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LeaseLost, "{refused}");
    assert_eq!(events(&provider, &run).await, 1);
    assert_eq!(provider.lease_reap(SweepParams { limit: 9, now: None }).await.unwrap().instances, 1);
}

/// G7: a renewal that committed while a flush waited for it counts, though the flush began before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_waited_for_its_own_renewal_is_not_refused() {
    let database = Database::new().with_parameter("application_name=renewed");
    let provider = database.provider(|options| options).await;
    let worker = Incarnation::fresh();
    provider.workflow_start(vec![start_params("run")]).await.unwrap().remove(0).unwrap();
    let lease = Duration::from_millis(300);
    let claimed = provider.workflow_claim(WorkflowClaim { lease, ..claim_params(worker, 1) }).await.unwrap();
    let (run, end) = (claimed.runs[0].clone(), claimed.now.plus(lease));
    let (mut observer, mut renewing) = (database.connect().await, database.connect().await);
    let renew = format!(
        "BEGIN; UPDATE \"{}\".instances SET lease_expires_at = lease_expires_at + 3600000000",
        database.schema()
    );
    sqlx::raw_sql(AssertSqlSafe(renew)).execute(&mut renewing).await.unwrap();
    let (other, one) = (provider.clone(), commit_params(&run, run.next_event));
    let writing = tokio::spawn(async move { commit(&other, worker, vec![one]).await });
    while waiting(&mut observer, "renewed", "Lock/%").await.is_none() {}
    while provider.clock().await.unwrap() < end {}
    sqlx::raw_sql("COMMIT").execute(&mut renewing).await.unwrap();
    writing.await.unwrap().unwrap().remove(0).unwrap();
    assert_eq!(events(&provider, &run).await, 2);
}

/// G10: a transaction of somebody else that holds a row costs its run a `Busy`, writes nothing, and holds up no other.
#[tokio::test]
async fn a_flush_behind_a_stuck_lock_is_busy_and_hurts_no_other() {
    let database = Database::new();
    let provider = database.provider(|options| options.lock_timeout(Duration::from_millis(30))).await;
    let worker = Incarnation::fresh();
    let runs = owned(&provider, worker, 2).await;
    let mut blocker = database.connect().await;
    let stuck = runs[0].instance.0;
    let lock =
        format!("BEGIN; SELECT 1 FROM \"{}\".instances WHERE id = {stuck} FOR UPDATE", database.schema());
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
    let both: Vec<_> = runs.iter().map(|run| commit_params(run, run.next_event)).collect();
    let error = commit(&provider, worker, both.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    commit(&provider, worker, vec![both[1].clone()]).await.unwrap().remove(0).unwrap();
    sqlx::raw_sql("ROLLBACK").execute(&mut blocker).await.unwrap();
    let answers = commit(&provider, worker, both).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((events(&provider, &runs[0]).await, events(&provider, &runs[1]).await), (2, 2));
}

fn registration(incarnation: Incarnation, now: Timestamp) -> WorkerRegistration {
    let slot = Some(durable_core::id::SlotName::new("blue").unwrap());
    let build = durable_core::id::BuildId::new("b1").unwrap();
    WorkerRegistration { slot, incarnation, build, now: Some(now) }
}

/// G3: a worker whose liveness connection broke takes its slot again at the next renewal, if nobody did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_liveness_connection_is_replaced_while_the_slot_is_free() {
    let database = Database::new();
    let provider = database.provider(|options| options.takeover_delay(Duration::from_secs(10))).await;
    let worker = Incarnation::fresh();
    let start = provider.clock().await.unwrap();
    provider.worker_register(registration(worker, start)).await.unwrap();
    let run = owned(&provider, worker, 1).await.remove(0);
    let broken = provider.liveness_pid(worker).unwrap();
    database.terminate(broken);
    let renewal = LeaseRenewal {
        incarnation: worker,
        instances: vec![(run.instance, run.epoch)],
        activities: Vec::new(),
        lease: Duration::from_hours(1),
        now: None,
    };
    assert!(provider.lease_renew(renewal).await.unwrap().lost_instances.is_empty());
    assert_ne!(provider.liveness_pid(worker).unwrap(), broken);
    let rival = provider.worker_register(registration(Incarnation::fresh(), start)).await.unwrap_err();
    assert_eq!(rival.kind(), ErrorKind::AlreadyExists);
}

/// G3, G8: a successor takes the slot of a broken connection at once and the claims one takeover delay later; the
/// predecessor, if it lives, gives everything up at its next renewal and claims no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_frees_claims_after_the_takeover_delay_and_the_predecessor_stops() {
    let database = Database::new();
    let provider = database.provider(|options| options.takeover_delay(Duration::from_secs(10))).await;
    let start = provider.clock().await.unwrap();
    let at = |seconds| start.plus(Duration::from_secs(seconds));
    let (old, new) = (Incarnation::fresh(), Incarnation::fresh());
    provider.worker_register(registration(old, at(0))).await.unwrap();
    let run = owned(&provider, old, 1).await.remove(0);
    database.terminate(provider.liveness_pid(old).unwrap());
    let Registered { freed, .. } = provider.worker_register(registration(new, at(1))).await.unwrap();
    assert_eq!(freed, 0);
    let reap = |seconds| provider.lease_reap(SweepParams { limit: 9, now: Some(at(seconds)) });
    assert_eq!(reap(10).await.unwrap().instances, 0);
    let renewal = LeaseRenewal {
        incarnation: old,
        instances: vec![(run.instance, run.epoch)],
        activities: Vec::new(),
        lease: Duration::from_hours(1),
        now: None,
    };
    assert_eq!(provider.lease_renew(renewal).await.unwrap().lost_instances, [run.instance]);
    let refused = provider.workflow_claim(claim_params(old, 1)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LeaseLost, "{refused}");
    assert!(refused.to_string().contains("\"blue\""), "{refused}");
    assert_eq!(reap(11).await.unwrap().instances, 1);
    let claim = WorkflowClaim { now: Some(at(12)), ..claim_params(new, 1) };
    let again = provider.workflow_claim(claim).await.unwrap().runs.remove(0);
    assert!(again.owner_lost && again.epoch > run.epoch);
    let batch = CommitBatch {
        incarnation: old,
        commits: vec![commit_params(&run, run.next_event)],
        lease: Duration::from_hours(1),
        now: Some(at(12)),
    };
    let late = provider.workflow_commit(batch).await.unwrap().remove(0).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LeaseLost);
}
