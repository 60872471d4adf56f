//! All or nothing: bad riders, broken guards, lost answers, races (G2, G3).

use std::sync::Arc;

use bytes::Bytes;
use durable_core::id::{
    BuildId, CommandId, EventId, FlushId, IdSeed, InboxSeq, Incarnation, RequestId, RunId,
};
use durable_core::provider::{
    ActivityChange, BlockChange, ClaimedRun, CommitBatch, CommitReceipt, Disposition, ErrorKind, HistoryRead,
    NewActivityRow, NextRunStart, Provider, ProviderResult, RunCommit, Status,
};
use tokio::sync::Barrier;

use super::harness::{Harness, LEASE, at, refused, rows};
use crate::fault::{Fault, FaultProvider, Gate, Plan};

fn dispositions() -> [Disposition; 6] {
    [
        Disposition::Keep,
        Disposition::Wait { wake_at: Some(at(99)) },
        Disposition::Yield,
        Disposition::Block { retry_after: None },
        Disposition::Close { status: Status::Completed, outcome: Bytes::from_static(b"done") },
        continuing(),
    ]
}

fn continuing() -> Disposition {
    let next =
        NextRunStart { run_id: RunId::fresh(), seed: IdSeed::fresh(), history: rows(EventId::FIRST, 1) };
    Disposition::Continue { outcome: Bytes::from_static(b"went on"), next }
}

fn block() -> BlockChange {
    BlockChange::Set { reason: "why".to_owned(), build: BuildId::new("b1").unwrap() }
}

fn inserts(commands: std::ops::RangeInclusive<u64>) -> Vec<ActivityChange> {
    commands.map(Harness::row).map(ActivityChange::Insert).collect()
}

/// A commit that changes everything that a commit can change.
fn full(run: &ClaimedRun, disposition: Disposition) -> RunCommit {
    let mut activities = inserts(2..=5);
    activities.push(ActivityChange::Remove(CommandId(1)));
    RunCommit {
        history: [rows(run.next_event, 1), rows(run.next_event.next(), 2)].concat(),
        consumed_through: InboxSeq(1),
        activities,
        progress: true,
        block: block(),
        disposition,
        ..Harness::commit_params(run)
    }
}

/// An owned run with an unread message and an activity row of command 1.
async fn prepared(harness: &Harness, id: &str, worker: Incarnation) -> ClaimedRun {
    let run = harness.owned(id, worker).await;
    harness.cancel(run.instance, RequestId::fresh()).await;
    let insert = RunCommit { activities: inserts(1..=1), ..Harness::commit_params(&run) };
    harness.commit(worker, insert, at(0)).await.unwrap();
    run
}

async fn commit_with(
    provider: &dyn Provider,
    worker: Incarnation,
    commit: RunCommit,
    second: u64,
) -> ProviderResult<CommitReceipt> {
    let batch =
        CommitBatch { incarnation: worker, commits: vec![commit], lease: LEASE, now: Some(at(second)) };
    provider.workflow_commit(batch).await.map(|mut answers| answers.remove(0))?
}

async fn events(harness: &Harness, run: &ClaimedRun) -> Vec<u64> {
    let read = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    harness.provider().history_read(read).await.unwrap().rows.iter().map(|row| row.first.0).collect()
}

/// G2: one rider that cannot be, at any place among the others: nothing of the commit is there. A constraint takes
/// the whole batch with it, at whatever place of the batch the bad run stands.
pub async fn a_bad_rider_at_any_place_leaves_everything_as_it_was(harness: &Harness) {
    let worker = Incarnation::fresh();
    let mut runs = Vec::new();
    for id in ["a", "b", "c"] {
        runs.push(prepared(harness, id, worker).await);
    }
    let instances: Vec<_> = runs.iter().map(|run| run.instance).collect();
    let stored = harness.stored(&instances).await;
    for place in 0..=5 {
        let with = |row: NewActivityRow| {
            let mut commit = full(&runs[0], Disposition::Yield);
            commit.activities.insert(place, ActivityChange::Insert(row));
            commit
        };
        // Command 5 is inserted by the commit itself: before it, after it, at once beside it.
        for bad in 0..runs.len() {
            let commits = (0..runs.len()).map(|number| {
                let mut commit = full(&runs[number], Disposition::Yield);
                if number == bad {
                    commit.activities.insert(place, ActivityChange::Insert(Harness::row(5)));
                }
                commit
            });
            refused(harness.commit_all(worker, commits.collect(), at(1)).await, ErrorKind::Conflict);
            assert_eq!(harness.stored(&instances).await, stored, "place {place} of member {bad}");
        }
        let priority = NewActivityRow { priority: 10, ..Harness::row(9) };
        let unnamed = NewActivityRow { activity_type: String::new(), ..Harness::row(9) };
        for row in [priority, unnamed] {
            refused(harness.commit(worker, with(row), at(1)).await, ErrorKind::Invalid);
        }
        assert_eq!(harness.stored(&instances).await, stored, "place {place}");
    }
    for place in 0..2 {
        let mut commit = full(&runs[0], Disposition::Yield);
        commit.history[place].next = commit.history[place].first;
        refused(harness.commit(worker, commit, at(1)).await, ErrorKind::Invalid);
    }
    assert_eq!(harness.stored(&instances).await, stored);
    for run in &runs {
        harness.commit(worker, full(run, Disposition::Yield), at(1)).await.unwrap();
    }
}

/// G3: each rider alone, under every kind of end, behind every guard that does not hold: it does not get in.
pub async fn no_rider_lands_without_its_guard(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = prepared(harness, "run", worker).await;
    let stored = harness.stored(&[run.instance]).await;
    let mut tried = 0;
    for disposition in dispositions() {
        let base = || RunCommit { disposition: disposition.clone(), ..Harness::commit_params(&run) };
        let remove = vec![ActivityChange::Remove(CommandId(1))];
        for rider in [
            base(),
            RunCommit { history: rows(run.next_event, 2), ..base() },
            RunCommit { consumed_through: InboxSeq(1), ..base() },
            RunCommit { activities: inserts(2..=2), ..base() },
            RunCommit { activities: remove, ..base() },
            RunCommit { progress: true, ..base() },
            RunCommit { block: block(), ..base() },
            RunCommit { block: BlockChange::Clear, ..base() },
        ] {
            let guarded: Vec<_> = broken_guards(&rider).into_iter().collect();
            tried += guarded.len() + 2;
            for answer in harness.commit_all(worker, guarded, at(1)).await.unwrap() {
                refused(answer, ErrorKind::LeaseLost);
            }
            refused(harness.commit(Incarnation::fresh(), rider.clone(), at(1)).await, ErrorKind::LeaseLost);
            refused(harness.commit(worker, rider, at(30)).await, ErrorKind::LeaseLost);
            assert_eq!(harness.stored(&[run.instance]).await, stored);
        }
    }
    println!("{tried} commits refused");
    harness.commit(worker, full(&run, Disposition::Keep), at(29)).await.unwrap();
}

/// The same commit under another epoch, at another event, of another run, of another instance.
fn broken_guards(good: &RunCommit) -> [RunCommit; 6] {
    let moved = |expected: u64| {
        let mut commit = RunCommit { expected_next: EventId(expected), ..good.clone() };
        if !commit.history.is_empty() {
            commit.history = rows(EventId(expected), 2);
        }
        commit
    };
    let stale = RunCommit { epoch: durable_core::id::Epoch(good.epoch.0 - 1), ..good.clone() };
    let forged = RunCommit { epoch: durable_core::id::Epoch(good.epoch.0 + 1), ..good.clone() };
    let other_run = RunCommit { run_id: RunId::fresh(), ..good.clone() };
    let other_instance = RunCommit { instance: durable_core::id::InstanceId(9_999), ..good.clone() };
    [stale, forged, moved(1), moved(7), other_run, other_instance]
}

/// G2: a turn of 10,000 commands with one too many leaves nothing, and 10,000 rows go as one.
pub async fn ten_thousand_rows_leave_nothing_or_go_whole(harness: &Harness) {
    const ROWS: u64 = 10_000;
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let mut activities = inserts(1..=ROWS);
    activities.push(ActivityChange::Insert(Harness::row(1)));
    let turn = RunCommit { history: rows(run.next_event, ROWS), ..Harness::commit_params(&run) };
    let before = harness.stored(&[run.instance]).await;
    let bad = RunCommit { activities: activities.clone(), ..turn.clone() };
    refused(harness.commit_all(worker, vec![bad], at(1)).await, ErrorKind::Conflict);
    assert_eq!(harness.stored(&[run.instance]).await, before);
    activities.pop();
    let receipt = harness.commit(worker, RunCommit { activities, ..turn }, at(1)).await.unwrap();
    let removes = (1..=ROWS).map(|number| ActivityChange::Remove(CommandId(number))).collect();
    let cancel = RunCommit {
        activities: removes,
        expected_next: receipt.next_event,
        disposition: Disposition::Yield,
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, cancel, at(2)).await.unwrap();
    let again = harness.claim_one(worker, at(2)).await;
    assert_eq!((again.next_event.0, again.activity_rows.len()), (ROWS + 2, 0));
}

/// G3, G4: after a lost answer the caller cannot know; the same flush again finds out, whether the commit had
/// landed, had not, or lands twice, for every kind of end; and what is stored is what one commit stores.
pub async fn a_lost_answer_is_resolved_by_the_flush_both_ways(harness: &Harness) {
    let faults = [Fault::LoseAnswer, Fault::Error(ErrorKind::Unavailable), Fault::Duplicate];
    let mut number = 0;
    for disposition in dispositions() {
        let mut receipts = Vec::new();
        for fault in [None].into_iter().chain(faults.clone().map(Some)) {
            number += 1;
            let plan = fault.clone().map_or(Plan::none(), |fault| Plan::at_call("workflow_commit", 1, fault));
            let provider = FaultProvider::around(harness.shared(), plan);
            let worker = Incarnation::fresh();
            let run = prepared(harness, &format!("run-{number}"), worker).await;
            let continues = matches!(disposition, Disposition::Continue { .. });
            let commit = full(&run, if continues { continuing() } else { disposition.clone() });
            let first = commit_with(&provider, worker, commit.clone(), 1).await;
            let landed = !matches!(fault, Some(Fault::Error(_)));
            assert_eq!(events(harness, &run).await.len(), if landed { 3 } else { 1 }, "{fault:?}");
            let receipt = match first {
                Ok(receipt) => receipt,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable);
                    commit_with(&provider, worker, commit.clone(), 1).await.unwrap()
                }
            };
            receipts.push((receipt, harness.view(run.instance).await.status));
            assert_eq!(events(harness, &run).await, [1, 2, 3], "{fault:?}");
            let other = RunCommit { flush: FlushId::fresh(), ..commit };
            refused(commit_with(&provider, worker, other, 1).await, ErrorKind::LeaseLost);
            for run in harness.claim(Incarnation::fresh(), at(1)).await {
                let commands: Vec<_> = run.activity_rows.iter().map(|row| row.command.0).collect();
                assert_eq!(commands, if continues { vec![] } else { vec![2, 3, 4, 5] });
            }
        }
        assert!(receipts.iter().all(|receipt| *receipt == receipts[0]), "{receipts:?}");
    }
}

/// G3: once a successor has committed, the retry of a lost flush is nobody's any more, and changes nothing.
pub async fn a_retry_after_a_successor_committed_changes_nothing(harness: &Harness) {
    for fault in [Fault::LoseAnswer, Fault::Error(ErrorKind::Unavailable)] {
        let provider = FaultProvider::around(harness.shared(), Plan::at(1, fault.clone()));
        let worker = Incarnation::fresh();
        let run = harness.owned(&format!("{fault:?}"), worker).await;
        let commit = RunCommit { history: rows(run.next_event, 1), ..Harness::commit_params(&run) };
        refused(commit_with(&provider, worker, commit.clone(), 1).await, ErrorKind::Unavailable);
        harness.provider().lease_reap(Harness::sweep(at(50))).await.unwrap();
        let successor = Incarnation::fresh();
        let next = harness.claim_one(successor, at(50)).await;
        let turn = RunCommit { history: rows(next.next_event, 1), ..Harness::commit_params(&next) };
        harness.commit(successor, turn, at(50)).await.unwrap();
        let stored = harness.stored(&[run.instance]).await;
        refused(commit_with(&provider, worker, commit, 50).await, ErrorKind::LeaseLost);
        assert_eq!(harness.stored(&[run.instance]).await, stored);
    }
}

/// G3, G7: a flush that was held up until its lease was over and its run claimed anew, by another worker or by the
/// same one, is told so and leaves nothing; one that was held up and still owns its run lands.
pub async fn a_flush_held_up_past_its_lease_is_refused(harness: &Harness) {
    let worker = Incarnation::fresh();
    for (id, successor) in
        [("another's", Some(Incarnation::fresh())), ("again", Some(worker)), ("kept", None)]
    {
        let (gate, keeper) = Gate::closed();
        let provider = FaultProvider::around(harness.shared(), Plan::at(1, Fault::Delay(gate)));
        let run = prepared(harness, id, worker).await;
        let commit = full(&run, Disposition::Keep);
        let slow = tokio::spawn(async move { commit_with(&provider, worker, commit, 29).await });
        keeper.arrived(1).await;
        if let Some(successor) = successor {
            harness.provider().lease_reap(Harness::sweep(at(30))).await.unwrap();
            let next = harness.claim_one(successor, at(30)).await;
            let stored = harness.stored(&[run.instance]).await;
            keeper.open();
            refused(slow.await.unwrap(), ErrorKind::LeaseLost);
            assert_eq!(harness.stored(&[run.instance]).await, stored);
            harness.commit(successor, full(&next, Disposition::Keep), at(31)).await.unwrap();
        } else {
            keeper.open();
            slow.await.unwrap().unwrap();
        }
        assert_eq!(events(harness, &run).await, [1, 2, 3], "{id}");
    }
}

/// G2, G3: flushes of one owner that claim overlapping ranges of events, at once over connections of their own and
/// in one batch: exactly one lands, whole.
pub async fn overlapping_ranges_that_race_land_once(harness: &Harness) {
    const ROUNDS: u64 = 30;
    const WRITERS: usize = 3;
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let mut next = run.next_event;
    let mut wins = [0; WRITERS];
    for round in 0..ROUNDS {
        let barrier = Arc::new(Barrier::new(WRITERS));
        let flush = |number: usize| RunCommit {
            expected_next: next,
            history: rows(next, 1 + number as u64),
            activities: inserts(round * 10..=round * 10 + number as u64),
            ..Harness::commit_params(&run)
        };
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (harness, barrier, commit) = (harness.clone(), barrier.clone(), flush(number));
                tokio::spawn(async move {
                    barrier.wait().await;
                    commit_with(harness.peer(number), worker, commit, 1).await
                })
            })
            .collect();
        let mut landed = Vec::new();
        for (number, writer) in writers.into_iter().enumerate() {
            match writer.await.unwrap() {
                Ok(receipt) => landed.push((number, receipt)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::LeaseLost, "{error}"),
            }
        }
        assert_eq!(landed.len(), 1, "round {round}: {landed:?}");
        let (winner, receipt) = landed[0];
        wins[winner] += 1;
        assert_eq!(receipt.next_event.0, next.0 + 1 + winner as u64);
        let late = harness.commit_all(worker, vec![flush(1), flush(2)], at(1)).await.unwrap();
        assert!(late.iter().all(Result::is_err), "the range is taken");
        next = receipt.next_event;
    }
    println!("{ROUNDS} rounds, won by writers {wins:?}");
    let both = [1, 2].map(|count| RunCommit {
        expected_next: next,
        history: rows(next, count),
        ..Harness::commit_params(&run)
    });
    let answers = harness.commit_all(worker, both.to_vec(), at(1)).await.unwrap();
    assert_eq!(answers[0].as_ref().unwrap().next_event, next.next());
    refused(answers.into_iter().nth(1).unwrap(), ErrorKind::LeaseLost);
    let view = harness.view(run.instance).await;
    assert_eq!(view.events, next.0);
}
