//! Durable activity rows (G1, G3, G8, G9).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durable_core::id::{CommandId, InboxSeq, Incarnation};
use durable_core::provider::{
    ActivityChange, ActivityClaim, ActivityOutcome, ActivityRetry, ClaimedActivity, Disposition, ErrorKind,
    InboxRead, LeaseRenewal, MessageKind, RunCommit, Status,
};
use durable_core::time::Timestamp;
use tokio::sync::Barrier;

use super::harness::{Harness, LEASE, at, refused};

/// The outcome of a claimed attempt.
pub(super) fn outcome(claimed: &ClaimedActivity, worker: Incarnation, now: Timestamp) -> ActivityOutcome {
    ActivityOutcome {
        row: claimed.row,
        epoch: claimed.epoch,
        incarnation: worker,
        message: Bytes::from_static(b"outcome \0"),
        now: Some(now),
    }
}

/// A retry of a claimed attempt after `delay`.
pub(super) fn retry(
    claimed: &ClaimedActivity,
    worker: Incarnation,
    delay: Duration,
    now: Timestamp,
) -> ActivityRetry {
    ActivityRetry {
        row: claimed.row,
        epoch: claimed.epoch,
        incarnation: worker,
        attempts: claimed.attempts + 1,
        last_failure: Some(Bytes::from_static(b"failure \0")),
        delay,
        now: Some(now),
    }
}

/// G2: the row is gone and the message is there, together; a second outcome is refused.
pub async fn an_outcome_ends_the_row_and_is_a_message_once(harness: &Harness) {
    let run = harness.with_rows("run", vec![Harness::row(1)]).await;
    let worker = Incarnation::fresh();
    let claimed = harness.claim_rows(worker, at(1)).await.remove(0);
    assert_eq!((claimed.instance, claimed.run_id, claimed.command), (run.instance, run.run_id, CommandId(1)));
    assert_eq!((claimed.attempts, claimed.lost, claimed.backoff_due), (1, 0, false));
    assert_eq!((claimed.task.as_ref(), claimed.now), (&b"task \0 bytes"[..], at(1)));
    assert_eq!(harness.view(run.instance).await.status, Status::Waiting);
    let twice = vec![outcome(&claimed, worker, at(2)), outcome(&claimed, worker, at(2))];
    let mut answers = harness.provider().activity_settle(twice).await.unwrap();
    refused(answers.remove(1), ErrorKind::LeaseLost);
    assert_eq!(answers.remove(0).unwrap().instance, run.instance);
    let late = harness.provider().activity_settle(vec![outcome(&claimed, worker, at(2))]).await.unwrap();
    refused(late.into_iter().next().unwrap(), ErrorKind::LeaseLost);
    let run = harness.claim_one(worker, at(2)).await;
    assert!(run.activity_rows.is_empty());
    assert_eq!(run.inbox.len(), 1);
    assert_eq!(
        (run.inbox[0].kind, run.inbox[0].body.as_ref()),
        (MessageKind::ActivityOutcome, &b"outcome \0"[..])
    );
}

/// A retry is claimable after its delay, with its count and its failure; only its holder may ask for one.
pub async fn a_retry_waits_for_its_delay(harness: &Harness) {
    harness.with_rows("run", vec![Harness::row(1)]).await;
    let worker = Incarnation::fresh();
    let claimed = harness.claim_rows(worker, at(0)).await.remove(0);
    let delay = Duration::from_secs(10);
    let forged = retry(&claimed, Incarnation::fresh(), delay, at(1));
    refused(harness.provider().activity_retry(vec![forged]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    let again = retry(&claimed, worker, delay, at(1));
    harness.provider().activity_retry(vec![again.clone()]).await.unwrap().remove(0).unwrap();
    refused(harness.provider().activity_retry(vec![again]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    assert!(harness.claim_rows(worker, at(10)).await.is_empty());
    let second = harness.claim_rows(worker, at(11)).await.remove(0);
    assert_eq!((second.attempts, second.lost), (2, 0));
    assert!(second.epoch > claimed.epoch);
    assert_eq!(second.last_failure.as_deref(), Some(&b"failure \0"[..]));
    // No new failure keeps the old one.
    let silent = ActivityRetry { last_failure: None, ..retry(&second, worker, Duration::ZERO, at(11)) };
    harness.provider().activity_retry(vec![silent]).await.unwrap().remove(0).unwrap();
    let third = harness.claim_rows(worker, at(11)).await.remove(0);
    assert_eq!((third.attempts, third.last_failure.as_deref()), (3, Some(&b"failure \0"[..])));
}

/// G8: an attempt that died with its process counts as made and lost, and owes its back-off once.
pub async fn a_lost_attempt_is_counted_and_owes_its_backoff(harness: &Harness) {
    harness.with_rows("run", vec![Harness::row(1)]).await;
    let worker = Incarnation::fresh();
    let claimed = harness.claim_rows(worker, at(0)).await.remove(0);
    let renewal = |now| LeaseRenewal {
        incarnation: worker,
        instances: Vec::new(),
        activities: vec![(claimed.row, claimed.epoch)],
        lease: LEASE,
        now: Some(now),
    };
    assert!(harness.provider().lease_renew(renewal(at(10))).await.unwrap().lost_activities.is_empty());
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(39))).await.unwrap().activities, 0);
    assert_eq!(harness.provider().lease_renew(renewal(at(40))).await.unwrap().lost_activities, [claimed.row]);
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(40))).await.unwrap().activities, 1);
    let again = harness.claim_rows(worker, at(40)).await.remove(0);
    assert_eq!((again.attempts, again.lost, again.backoff_due), (2, 1, true));
    let waited =
        ActivityRetry { attempts: again.attempts, ..retry(&again, worker, Duration::from_secs(5), at(40)) };
    harness.provider().activity_retry(vec![waited]).await.unwrap().remove(0).unwrap();
    let third = harness.claim_rows(worker, at(45)).await.remove(0);
    assert_eq!((third.attempts, third.lost, third.backoff_due), (2, 1, false));
}

/// A row that nobody serves waits, and past its deadline anyone may end it, back-off or not.
pub async fn a_row_past_its_deadline_is_anyones(harness: &Harness) {
    let mut delayed = Harness::row(1);
    delayed.delay = Duration::from_secs(1000);
    delayed.deadline = Some(at(60));
    let mut unserved = Harness::row(2);
    "refund".clone_into(&mut unserved.activity_type);
    unserved.deadline = Some(at(60));
    let mut patient = Harness::row(3);
    "refund".clone_into(&mut patient.activity_type);
    harness.with_rows("run", vec![delayed, unserved, patient]).await;
    let worker = Incarnation::fresh();
    assert!(harness.claim_rows(worker, at(59)).await.is_empty());
    let ended = harness.claim_rows(worker, at(60)).await;
    let mut commands: Vec<_> = ended.iter().map(|row| (row.command.0, row.deadline)).collect();
    commands.sort_unstable();
    assert_eq!(commands, [(1, Some(at(60))), (2, Some(at(60)))]);
    assert_eq!(harness.claim_rows_of(worker, &["a \"b", "refund"], at(60)).await.len(), 1);
}

/// G1, G9: each row goes to one claimer, by (priority, eligible time, id).
pub async fn claimers_that_race_claim_each_row_once_in_order(harness: &Harness) {
    const CLAIMERS: usize = 4;
    let mut rows: Vec<_> = (1..=40).map(Harness::row).collect();
    rows[30].priority = 0;
    rows[20].priority = 9;
    rows[10].delay = Duration::from_secs(1);
    harness.with_rows("run", rows).await;
    let barrier = Arc::new(Barrier::new(CLAIMERS));
    let claimers: Vec<_> = (0..CLAIMERS)
        .map(|_| {
            let (harness, barrier) = (harness.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                let mut mine = Vec::new();
                loop {
                    let claim =
                        ActivityClaim { limit: 3, ..Harness::row_claim_params(Incarnation::fresh(), at(1)) };
                    let claimed = harness.provider().activity_claim(claim).await.unwrap();
                    if claimed.is_empty() {
                        return mine;
                    }
                    mine.push(claimed.iter().map(|row| row.command.0).collect::<Vec<_>>());
                }
            })
        })
        .collect();
    let rank = |command: u64| match command {
        31 => 0,
        11 => 1001,
        21 => 1002,
        other => other,
    };
    let mut all = Vec::new();
    for claimer in claimers {
        for page in claimer.await.unwrap() {
            assert!(page.is_sorted_by_key(|&command| rank(command)), "{page:?}");
            all.extend(page);
        }
    }
    assert_eq!(all.len(), 40);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 40);
}

/// G3: an attempt whose command was cancelled meanwhile is told so and changes nothing.
pub async fn an_outcome_of_a_removed_row_changes_nothing(harness: &Harness) {
    let run = harness.with_rows("run", vec![Harness::row(1), Harness::row(2)]).await;
    let worker = Incarnation::fresh();
    let claimed = harness.claim_rows(worker, at(0)).await;
    let other = harness.claim_rows(Incarnation::fresh(), at(0)).await;
    assert!(other.is_empty());
    // The second outcome wakes the run, whose next turn cancels the first.
    let answers =
        harness.provider().activity_settle(vec![outcome(&claimed[1], worker, at(1))]).await.unwrap();
    assert!(answers[0].is_ok());
    let owned = harness.claim_one(worker, at(1)).await;
    let cancel = RunCommit {
        consumed_through: InboxSeq(1),
        activities: vec![ActivityChange::Remove(CommandId(1)), ActivityChange::Remove(CommandId(2))],
        disposition: Disposition::Wait { wake_at: None },
        ..Harness::commit_params(&owned)
    };
    harness.commit(worker, cancel, at(1)).await.unwrap();
    let before = harness.picture(run.instance).await;
    let late = harness.provider().activity_settle(vec![outcome(&claimed[0], worker, at(2))]).await.unwrap();
    refused(late.into_iter().next().unwrap(), ErrorKind::LeaseLost);
    let again = retry(&claimed[0], worker, Duration::ZERO, at(2));
    refused(harness.provider().activity_retry(vec![again]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    assert_eq!(harness.picture(run.instance).await, before);
}

/// G3: forged, stale and expired holders are refused before the reaper comes, and after.
pub async fn an_outcome_under_an_expired_lease_changes_nothing(harness: &Harness) {
    let run = harness.with_rows("run", vec![Harness::row(1)]).await;
    let worker = Incarnation::fresh();
    let claimed = harness.claim_rows(worker, at(0)).await.remove(0);
    let before = harness.picture(run.instance).await;
    let mut forged = outcome(&claimed, worker, at(1));
    forged.epoch.0 += 1;
    let stranger = outcome(&claimed, Incarnation::fresh(), at(1));
    let expired = outcome(&claimed, worker, at(30));
    for answer in harness.provider().activity_settle(vec![forged, stranger, expired]).await.unwrap() {
        refused(answer, ErrorKind::LeaseLost);
    }
    harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
    let stale = outcome(&claimed, worker, at(1));
    refused(harness.provider().activity_settle(vec![stale]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    assert_eq!(harness.picture(run.instance).await, before);
    let read = InboxRead { instance: run.instance, after: InboxSeq(0) };
    assert!(harness.provider().inbox_read(read).await.unwrap().is_empty());
}

/// A row that is made and removed in one commit was never there.
pub async fn scheduled_and_cancelled_in_one_commit_queues_nothing(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let commit = RunCommit {
        activities: vec![
            ActivityChange::Insert(Harness::row(1)),
            ActivityChange::Remove(CommandId(1)),
            ActivityChange::Insert(Harness::row(2)),
        ],
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, commit, at(0)).await.unwrap();
    let claimed = harness.claim_rows(worker, at(0)).await;
    assert_eq!(claimed.iter().map(|row| row.command.0).collect::<Vec<_>>(), [2]);
}

/// G8: an activity whose attempts were lost is claimed alone, in its turn; what follows it is not held beside it.
pub async fn a_suspect_row_is_claimed_alone_and_in_order(harness: &Harness) {
    let mut rows: Vec<_> = (1..=5).map(Harness::row).collect();
    (rows[1].lost, rows[2].lost, rows[3].lost) = (2, 3, 1);
    harness.with_rows("run", rows).await;
    let claim = async || {
        let params =
            ActivityClaim { isolate_at: 2, ..Harness::row_claim_params(Incarnation::fresh(), at(1)) };
        let rows = harness.provider().activity_claim(params).await.unwrap();
        rows.iter().map(|row| row.command.0).collect::<Vec<_>>()
    };
    assert_eq!(claim().await, [1], "a claim goes past a suspect");
    assert_eq!(claim().await, [2], "a suspect has company");
    assert_eq!(claim().await, [3], "a suspect has company");
    assert_eq!(claim().await, [4, 5]);
}
