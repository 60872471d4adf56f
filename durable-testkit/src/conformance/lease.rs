//! Leases, sweeps, and who is dead (G3, G7, G8).

use std::time::Duration;

use durable_core::id::{BuildId, Incarnation, QueueName, RequestId};
use durable_core::provider::{
    BlockChange, ClaimedRun, Disposition, ErrorKind, LeaseRenewal, LeaseState, PollParams, RunCommit, Status,
    SweepReport,
};
use durable_core::time::Timestamp;

use super::harness::{Harness, LEASE, at, refused};

async fn renew(harness: &Harness, worker: Incarnation, run: &ClaimedRun, now: Timestamp) -> LeaseState {
    renew_for(harness, worker, run, LEASE, now).await
}

async fn renew_for(
    harness: &Harness,
    worker: Incarnation,
    run: &ClaimedRun,
    lease: Duration,
    now: Timestamp,
) -> LeaseState {
    let renewal = LeaseRenewal {
        incarnation: worker,
        instances: vec![(run.instance, run.epoch)],
        activities: Vec::new(),
        lease,
        now: Some(now),
    };
    harness.provider().lease_renew(renewal).await.unwrap()
}

/// G7, G8: the database's clock ends a lease; the next claim has a higher epoch and knows of the loss.
pub async fn an_expired_lease_is_reaped_and_the_run_claimed_again(harness: &Harness) {
    let run = harness.owned("run", Incarnation::fresh()).await;
    let early = harness.provider().lease_reap(Harness::sweep(at(29))).await.unwrap();
    assert_eq!(early, SweepReport::default());
    assert!(harness.claim(Incarnation::fresh(), at(29)).await.is_empty());
    let late = harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
    assert_eq!(late, SweepReport { instances: 1, activities: 0 });
    let worker = Incarnation::fresh();
    let again = harness.claim_one(worker, at(30)).await;
    assert_eq!(again.epoch.0, run.epoch.0 + 1);
    assert!(again.owner_lost);
    // Any commit has dealt with the loss.
    let release = RunCommit { disposition: Disposition::Yield, ..Harness::commit_params(&again) };
    harness.commit(worker, release, at(30)).await.unwrap();
    assert!(!harness.claim_one(Incarnation::fresh(), at(30)).await.owner_lost);
}

/// G7: a renewal only ever lengthens, and only a lease that is alive and its own.
pub async fn a_renewal_extends_never_shortens_and_never_revives(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    assert_eq!(renew(harness, worker, &run, at(20)).await.lost_instances, []);
    // Until 50 now. A shorter one changes nothing.
    assert_eq!(renew_for(harness, worker, &run, Duration::from_secs(1), at(21)).await.lost_instances, []);
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(49))).await.unwrap(), SweepReport::default());
    // Another owner's, another epoch's, and an expired one are lost.
    assert_eq!(renew(harness, Incarnation::fresh(), &run, at(40)).await.lost_instances, [run.instance]);
    let mut forged = run.clone();
    forged.epoch.0 += 1;
    assert_eq!(renew(harness, worker, &forged, at(40)).await.lost_instances, [run.instance]);
    assert_eq!(renew(harness, worker, &run, at(50)).await.lost_instances, [run.instance]);
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(50))).await.unwrap().instances, 1);
}

/// G3: a free slot proves its last holder dead; what that one held is free at once.
pub async fn a_registration_frees_what_a_dead_predecessor_holds(harness: &Harness) {
    harness.with_rows("rows", vec![Harness::row(1)]).await;
    let dead = Harness::registration(Some("blue"), "b1", at(0));
    let other = Harness::registration(Some("green"), "b1", at(0));
    harness.provider().worker_register(dead.clone()).await.unwrap();
    harness.provider().worker_register(other.clone()).await.unwrap();
    let run = harness.owned("run", dead.incarnation).await;
    assert_eq!(harness.claim_rows(dead.incarnation, at(0)).await.len(), 1);
    harness.start("others").await;
    harness.claim_one(other.incarnation, at(0)).await;
    harness.kill(dead.incarnation);
    let successor = Harness::registration(Some("blue"), "b1", at(1));
    let registered = harness.provider().worker_register(successor.clone()).await.unwrap();
    assert_eq!((registered.slot.as_str(), registered.freed, registered.now), ("blue", 2, at(1)));
    let again = harness.claim_one(successor.incarnation, at(1)).await;
    assert_eq!((again.instance, again.owner_lost), (run.instance, true));
    let rows = harness.claim_rows(successor.incarnation, at(1)).await;
    assert_eq!((rows.len(), rows[0].lost, rows[0].attempts, rows[0].backoff_due), (1, 1, 2, true));
    let late = harness.commit(dead.incarnation, Harness::commit_params(&run), at(1)).await;
    refused(late, ErrorKind::LeaseLost);
}

/// G3: a living worker's slot is refused, and nothing of it is freed.
pub async fn a_living_predecessor_keeps_its_slot_and_its_claims(harness: &Harness) {
    let living = Harness::registration(Some("blue"), "b1", at(0));
    harness.provider().worker_register(living.clone()).await.unwrap();
    let run = harness.owned("run", living.incarnation).await;
    let rival = Harness::registration(Some("blue"), "b1", at(1));
    let error = refused(harness.provider().worker_register(rival).await, ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("\"blue\""), "{error}");
    harness.commit(living.incarnation, Harness::commit_params(&run), at(2)).await.unwrap();
}

/// Workers without a name get the first free number; a slot that was left is taken again.
pub async fn unnamed_workers_take_the_first_free_slot(harness: &Harness) {
    let mut workers = Vec::new();
    for expected in ["worker-1", "worker-2", "worker-3"] {
        let worker = Harness::registration(None, "b1", at(0));
        assert_eq!(harness.provider().worker_register(worker.clone()).await.unwrap().slot.as_str(), expected);
        workers.push(worker);
    }
    harness.provider().worker_deregister(workers[1].incarnation).await.unwrap();
    let next = Harness::registration(None, "b1", at(0));
    assert_eq!(harness.provider().worker_register(next).await.unwrap().slot.as_str(), "worker-2");
    let long = "🦀".repeat(63);
    let named = Harness::registration(Some(&long), "b1", at(0));
    assert_eq!(harness.provider().worker_register(named).await.unwrap().slot.as_str(), long);
}

/// What a worker still holds when it leaves stays its own until the lease ends.
pub async fn a_worker_that_leaves_keeps_its_claims_under_lease(harness: &Harness) {
    let leaving = Harness::registration(Some("blue"), "b1", at(0));
    harness.provider().worker_register(leaving.clone()).await.unwrap();
    harness.owned("run", leaving.incarnation).await;
    harness.provider().worker_deregister(leaving.incarnation).await.unwrap();
    let next = Harness::registration(Some("blue"), "b1", at(1));
    assert_eq!(harness.provider().worker_register(next.clone()).await.unwrap().freed, 0);
    assert!(harness.claim(next.incarnation, at(1)).await.is_empty());
    harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
    harness.claim_one(next.incarnation, at(30)).await;
}

/// A run that one build cannot replay is tried as soon as another build registers, and not by the same one.
pub async fn another_build_makes_blocked_runs_due(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let block = RunCommit {
        block: BlockChange::Set { reason: "mismatch".to_owned(), build: BuildId::new("b1").unwrap() },
        disposition: Disposition::Block { retry_after: None },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, block, at(0)).await.unwrap();
    for (build, freed) in [("b1", 0), ("b2", 1)] {
        harness.provider().worker_register(Harness::registration(None, build, at(5))).await.unwrap();
        let swept = harness.provider().due_sweep(Harness::sweep(at(5))).await.unwrap();
        assert_eq!(swept.instances, freed, "{build}");
    }
    let again = harness.claim_one(Incarnation::fresh(), at(5)).await;
    assert_eq!(again.blocked_attempts, 1);
}

/// G7, G9: a due run counts as eligible since it was due, so late sweeps change no order.
pub async fn due_runs_are_runnable_since_their_due_time(harness: &Harness) {
    harness.waiting("later", Some(at(20))).await;
    harness.waiting("sooner", Some(at(10))).await;
    let asleep = harness.waiting("never", None).await;
    assert_eq!(harness.provider().due_sweep(Harness::sweep(at(9))).await.unwrap().instances, 0);
    assert_eq!(harness.provider().due_sweep(Harness::sweep(at(30))).await.unwrap().instances, 2);
    let runs = harness.claim(Incarnation::fresh(), at(30)).await;
    assert_eq!(runs.iter().map(|run| run.workflow_id.as_str()).collect::<Vec<_>>(), ["sooner", "later"]);
    assert_eq!(harness.view(asleep).await.status, Status::Waiting);
}

/// One read says which calls would find something, and when to look again.
pub async fn poll_tells_what_there_is_to_do(harness: &Harness) {
    let worker = Incarnation::fresh();
    let poll = |now| {
        harness.provider().poll(PollParams {
            incarnation: worker,
            queues: vec![QueueName::default_queue(), QueueName::new("a \"b'").unwrap()],
            activity_types: vec!["charge".to_owned()],
            now: Some(now),
        })
    };
    let hint = poll(at(0)).await.unwrap();
    assert!(!(hint.runnable || hint.due || hint.expired || hint.activities || hint.inbox));
    assert_eq!((hint.now, hint.next_due), (at(0), None));

    harness.waiting("timer", Some(at(50))).await;
    let mut delayed = Harness::row(1);
    delayed.delay = Duration::from_secs(40);
    let mut unserved = Harness::row(2);
    "refund".clone_into(&mut unserved.activity_type);
    unserved.deadline = Some(at(45));
    harness.with_rows("rows", vec![delayed, unserved]).await;
    let hint = poll(at(0)).await.unwrap();
    assert!(!(hint.runnable || hint.due || hint.expired || hint.activities || hint.inbox), "{hint:?}");
    assert_eq!(hint.next_due, Some(at(40)));
    assert!(poll(at(40)).await.unwrap().activities);
    assert_eq!(poll(at(40)).await.unwrap().next_due, Some(at(45)));
    assert!(poll(at(50)).await.unwrap().due);
    assert_eq!(poll(at(50)).await.unwrap().next_due, None);

    let started = harness.start("owned").await;
    assert!(poll(at(0)).await.unwrap().runnable);
    harness.claim_one(worker, at(0)).await;
    assert!(!poll(at(0)).await.unwrap().runnable);
    harness.cancel(started.instance, RequestId::fresh()).await;
    assert!(poll(at(1)).await.unwrap().inbox);
    assert_eq!(harness.provider().inbox_pending(worker).await.unwrap(), [started.instance]);
    assert!(!poll(at(29)).await.unwrap().expired);
    assert!(poll(at(30)).await.unwrap().expired);
}
