//! Releases, heartbeats and the reaper: each touches what is its own (G3, G7, G8).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durable_core::id::{ActivityRowId, Incarnation, InstanceId, RequestId};
use durable_core::provider::{
    ActivityClaim, ActivityRetry, ClaimedActivity, ClaimedRun, Disposition, ErrorKind, LeaseRenewal,
    RunCommit, Status, SweepParams, SweepReport, WorkflowClaim,
};
use durable_core::time::Timestamp;
use tokio::sync::Barrier;

use super::activities::{outcome, retry};
use super::harness::{Harness, LEASE, at, refused};

fn renewal(
    worker: Incarnation,
    runs: &[ClaimedRun],
    rows: &[ClaimedActivity],
    now: Timestamp,
) -> LeaseRenewal {
    LeaseRenewal {
        incarnation: worker,
        instances: runs.iter().map(|run| (run.instance, run.epoch)).collect(),
        activities: rows.iter().map(|row| (row.row, row.epoch)).collect(),
        lease: LEASE,
        now: Some(now),
    }
}

/// G8: what was lost with its owner comes to the next one with the same messages and rows in the same order, each
/// lost attempt counted.
pub async fn a_reclaimed_run_brings_the_same_messages_in_order(harness: &Harness) {
    let rows = [3, 1, 2].map(Harness::row).to_vec();
    let run = harness.with_rows("run", rows).await;
    for _ in 0..5 {
        harness.cancel(run.instance, RequestId::fresh()).await;
    }
    let first = harness.claim_one(Incarnation::fresh(), at(1)).await;
    let held = harness.claim_rows(Incarnation::fresh(), at(1)).await;
    assert_eq!((first.inbox.len(), held.len()), (5, 3));
    for round in 1..=2_u32 {
        let now = at(u64::from(round) * 100);
        harness.provider().lease_reap(Harness::sweep(now)).await.unwrap();
        let claim = WorkflowClaim { max_claims: 100, ..Harness::claim_params(Incarnation::fresh(), now) };
        let again = harness.provider().workflow_claim(claim).await.unwrap().runs.remove(0);
        assert_eq!(again.inbox, first.inbox);
        assert_eq!(again.activity_rows, first.activity_rows);
        assert_eq!(again.claims_without_progress, first.claims_without_progress + round);
        assert_eq!(again.epoch.0, first.epoch.0 + i64::from(round));
        let attempts = harness.claim_rows(Incarnation::fresh(), now).await;
        assert!(attempts.iter().all(|row| (row.attempts, row.lost) == (1 + round, round)), "{attempts:?}");
        assert_eq!(
            attempts.iter().map(|row| row.row).collect::<Vec<_>>(),
            held.iter().map(|row| row.row).collect::<Vec<_>>()
        );
    }
}

/// G8: one heartbeat keeps everything that was claimed, also what only waits in a buffer, and names exactly what
/// is lost.
pub async fn one_renewal_keeps_all_that_was_claimed_ahead(harness: &Harness) {
    let rows = (1..=30).map(Harness::row).collect();
    harness.with_rows("rows", rows).await;
    for number in 0..20 {
        harness.start(&format!("run-{number}")).await;
    }
    let worker = Incarnation::fresh();
    let mut runs = harness.claim(worker, at(0)).await;
    let mut held = harness.claim_rows(worker, at(0)).await;
    assert_eq!((runs.len(), held.len()), (20, 30));
    let renewed = harness.provider().lease_renew(renewal(worker, &runs, &held, at(20))).await.unwrap();
    assert!(renewed.lost_instances.is_empty() && renewed.lost_activities.is_empty());
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(49))).await.unwrap(), SweepReport::default());
    // Two that are not its own any more, and two that never were.
    runs[4].epoch.0 += 1;
    held[9].epoch.0 += 1;
    runs[7].instance = InstanceId(9_999);
    held[12].row = ActivityRowId(9_999);
    let renewed = harness.provider().lease_renew(renewal(worker, &runs, &held, at(49))).await.unwrap();
    assert_eq!(renewed.lost_instances, [runs[4].instance, runs[7].instance]);
    assert_eq!(renewed.lost_activities, [held[9].row, held[12].row]);
    let reaped = harness.provider().lease_reap(Harness::sweep(at(50))).await.unwrap();
    assert_eq!(reaped, SweepReport { instances: 2, activities: 2 });
}

/// What one worker of the race holds.
struct Held {
    worker: Incarnation,
    runs: Vec<ClaimedRun>,
    rows: Vec<ClaimedActivity>,
}

async fn hold(harness: &Harness, now: Timestamp) -> Held {
    let worker = Incarnation::fresh();
    let claim = WorkflowClaim { limit: 2, max_claims: 1000, ..Harness::claim_params(worker, now) };
    let runs = harness.provider().workflow_claim(claim).await.unwrap().runs;
    let claim = ActivityClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: durable_core::id::QueueName::default_queue(),
        types: vec!["charge".to_owned()],
        limit: 2,
        lease: LEASE,
        now: Some(now),
    };
    let rows = harness.provider().activity_claim(claim).await.unwrap();
    assert_eq!((runs.len(), rows.len()), (2, 2));
    Held { worker, runs, rows }
}

/// G7: heartbeats that race the reaper: each lease is either kept or reaped, never both and never neither; nothing
/// locks up.
pub async fn heartbeats_and_reapers_that_race_agree_on_every_lease(harness: &Harness) {
    const ROUNDS: u64 = 25;
    const WORKERS: u64 = 4;
    harness.with_rows("rows", (1..=WORKERS * 2).map(Harness::row).collect()).await;
    for number in 0..WORKERS * 2 {
        harness.start(&format!("run-{number}")).await;
    }
    let (mut kept, mut reaped) = (0, 0);
    for round in 1..=ROUNDS {
        let begin = round * 1000;
        let mut all = Vec::new();
        for _ in 0..WORKERS {
            all.push(hold(harness, at(begin)).await);
        }
        let barrier = Arc::new(Barrier::new(all.len() + 2));
        let mut reapers = Vec::new();
        for number in 0..2 {
            let (harness, barrier) = (harness.clone(), barrier.clone());
            reapers.push(tokio::spawn(async move {
                barrier.wait().await;
                let mut taken = SweepReport::default();
                for _ in 0..8 {
                    let params = SweepParams { limit: 3, now: Some(at(begin + 35)) };
                    let swept = harness.peer(number).lease_reap(params).await.unwrap();
                    taken.instances += swept.instances;
                    taken.activities += swept.activities;
                }
                taken
            }));
        }
        let mut beats = Vec::new();
        for (number, held) in all.iter().enumerate() {
            let (harness, barrier) = (harness.clone(), barrier.clone());
            let params = renewal(held.worker, &held.runs, &held.rows, at(begin + 20));
            beats.push(tokio::spawn(async move {
                barrier.wait().await;
                harness.peer(number).lease_renew(params).await.unwrap()
            }));
        }
        let mut lost = (BTreeSet::new(), BTreeSet::new());
        for beat in beats {
            let state = beat.await.unwrap();
            lost.0.extend(state.lost_instances);
            lost.1.extend(state.lost_activities);
        }
        let mut taken = (0, 0);
        for reaper in reapers {
            let swept = reaper.await.unwrap();
            taken = (taken.0 + swept.instances, taken.1 + swept.activities);
        }
        // A heartbeat may skip what a reaper has locked just then: the next one tells.
        let swept = harness.provider().lease_reap(Harness::sweep(at(begin + 35))).await.unwrap();
        taken = (taken.0 + swept.instances, taken.1 + swept.activities);
        for held in &all {
            let again = renewal(held.worker, &held.runs, &held.rows, at(begin + 36));
            let state = harness.provider().lease_renew(again).await.unwrap();
            lost.0.extend(state.lost_instances);
            lost.1.extend(state.lost_activities);
        }
        assert_eq!((lost.0.len() as u64, lost.1.len() as u64), taken, "round {round}");
        for held in &all {
            settle_round(harness, held, &lost.0, &lost.1, at(begin + 40)).await;
        }
        reaped += taken.0 + taken.1;
        kept += WORKERS * 4 - taken.0 - taken.1;
        // Whatever was kept is over, and free for the next round.
        harness.provider().lease_reap(Harness::sweep(at(begin + 100))).await.unwrap();
    }
    println!("{ROUNDS} rounds: {kept} leases kept, {reaped} reaped");
}

/// Those that kept their lease still own, the others do not.
async fn settle_round(
    harness: &Harness,
    held: &Held,
    lost_runs: &BTreeSet<InstanceId>,
    lost_rows: &BTreeSet<ActivityRowId>,
    now: Timestamp,
) {
    for run in &held.runs {
        let answer = harness.commit(held.worker, Harness::commit_params(run), now).await;
        assert_eq!(answer.is_err(), lost_runs.contains(&run.instance));
    }
    for row in &held.rows {
        let again = ActivityRetry { delay: Duration::ZERO, ..retry(row, held.worker, Duration::ZERO, now) };
        let answer = harness.provider().activity_retry(vec![again]).await.unwrap().remove(0);
        assert_eq!(answer.is_err(), lost_rows.contains(&row.row));
    }
}

/// G3: whatever becomes of one run, its neighbours under the same owner and others' keep what they have; a release
/// by somebody else is none.
pub async fn a_release_touches_only_the_run_that_is_held(harness: &Harness) {
    let worker = Incarnation::fresh();
    let mut others = Vec::new();
    for id in ["own-1", "own-2"] {
        others.push(harness.owned(id, worker).await);
    }
    let stranger = Incarnation::fresh();
    others.push(harness.owned("foreign", stranger).await);
    let sleeping = harness.waiting("sleeping", Some(at(500))).await;
    let instances: Vec<_> = others.iter().map(|run| run.instance).chain([sleeping]).collect();
    let mut before = String::new();
    for &instance in &instances {
        before += &harness.picture(instance).await;
    }
    for (number, disposition) in [
        Disposition::Keep,
        Disposition::Wait { wake_at: None },
        Disposition::Yield,
        Disposition::Block { retry_after: Some(Duration::ZERO) },
        Disposition::Close { status: Status::Completed, outcome: Bytes::from_static(b"done") },
    ]
    .into_iter()
    .enumerate()
    {
        let run = harness.owned(&format!("released-{number}"), worker).await;
        let release = RunCommit { disposition, ..Harness::commit_params(&run) };
        let stored = harness.stored(&instances).await;
        refused(harness.commit(stranger, release.clone(), at(20)).await, ErrorKind::LeaseLost);
        assert_eq!(harness.stored(&instances).await, stored);
        harness.commit(worker, release, at(20)).await.unwrap();
        let mut after = String::new();
        for &instance in &instances {
            after += &harness.picture(instance).await;
        }
        assert_eq!(after, before, "{number}");
        // Out of the way of the next round's claim.
        harness.claim(stranger, at(20)).await;
    }
    // The leases of the others are what they were: neither released nor renewed.
    for run in &others {
        let owner = if run.workflow_id.as_str() == "foreign" { stranger } else { worker };
        let state = renewal(owner, std::slice::from_ref(run), &[], at(0));
        assert!(harness.provider().lease_renew(state).await.unwrap().lost_instances.is_empty());
    }
    let reaped = harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
    assert_eq!(reaped.instances, 3);
}

/// G3: a delayed release of one row leaves every other row with its holder and its lease.
pub async fn a_delayed_release_touches_only_the_row_that_is_held(harness: &Harness) {
    harness.with_rows("run", (1..=3).map(Harness::row).collect()).await;
    let (worker, stranger) = (Incarnation::fresh(), Incarnation::fresh());
    let held = harness.claim_rows(worker, at(0)).await;
    let run = harness.with_rows("other", (1..=2).map(Harness::row).collect()).await;
    let foreign = harness.claim_rows(stranger, at(0)).await;
    assert_eq!((held.len(), foreign.len()), (3, 2));
    let stored = harness.stored(&[run.instance]).await;
    let delay = Duration::from_secs(10);
    for wrong in [retry(&held[1], stranger, delay, at(1)), retry(&foreign[0], worker, delay, at(1))] {
        let answers = harness.provider().activity_retry(vec![wrong]).await.unwrap();
        refused(answers.into_iter().next().unwrap(), ErrorKind::LeaseLost);
    }
    assert_eq!(harness.stored(&[run.instance]).await, stored);
    let release = retry(&held[1], worker, delay, at(1));
    harness.provider().activity_retry(vec![release]).await.unwrap().remove(0).unwrap();
    assert!(harness.claim_rows(stranger, at(10)).await.is_empty());
    let again = harness.claim_rows(stranger, at(11)).await;
    assert_eq!(again.iter().map(|row| row.row).collect::<Vec<_>>(), [held[1].row]);
    assert_eq!(again[0].attempts, 2);
    // The others are where they were, and their leases end when they did.
    harness
        .provider()
        .activity_settle(vec![outcome(&held[0], worker, at(29))])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    let reaped = harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
    assert_eq!(reaped.activities, 3);
}
