//! Instances that go on in a new run.

use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{CommandId, EventId, FlushId, IdSeed, InboxSeq, Incarnation, RequestId, RunId};
use durable_core::provider::{
    ActivityChange, BlockChange, ClaimedRun, Disposition, ErrorKind, HistoryRead, InboxRead, NextRunStart,
    RunCommit, SendOutcome, Status,
};

use super::activities::outcome;
use super::harness::{Harness, at, refused, rows};

fn next_run() -> NextRunStart {
    NextRunStart { run_id: RunId::fresh(), seed: IdSeed::fresh(), history: rows(EventId::FIRST, 2) }
}

fn go_on(run: &ClaimedRun, next: &NextRunStart) -> RunCommit {
    RunCommit {
        history: rows(run.next_event, 3),
        progress: true,
        disposition: Disposition::Continue { outcome: Bytes::from_static(b"went \0 on"), next: next.clone() },
        ..Harness::commit_params(run)
    }
}

async fn history(harness: &Harness, run_id: RunId) -> Vec<EncodedBatch> {
    let read = HistoryRead { run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    harness.provider().history_read(read).await.unwrap().rows
}

/// G2: the end of a run and the beginning of the next are one commit; the instance is runnable at once, and its next
/// owner finds the new run.
pub async fn a_run_that_continues_ends_and_the_next_begins_in_one_commit(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let blocked = BlockChange::Set {
        reason: "for a while".to_owned(),
        build: durable_core::id::BuildId::new("b").unwrap(),
    };
    let block = RunCommit { block: blocked, ..Harness::commit_params(&run) };
    harness.commit(worker, block, at(1)).await.unwrap();
    let first_history = history(harness, run.run_id).await;
    let next = next_run();
    let commit = RunCommit { block: BlockChange::Clear, ..go_on(&run, &next) };
    let receipt = harness.commit(worker, commit, at(2)).await.unwrap();
    assert_eq!((receipt.status, receipt.next_event), (Status::Runnable, EventId(3)));
    let view = harness.view(run.instance).await;
    assert_eq!((view.status, view.run_id, view.run_number), (Status::Runnable, next.run_id, 2));
    assert_eq!((view.events, view.closed_at, view.outcome), (2, None, None));
    assert!(view.blocked.is_none());
    let claimed = harness.claim_one(Incarnation::fresh(), at(2)).await;
    assert_eq!((claimed.instance, claimed.run_id, claimed.run_number), (run.instance, next.run_id, 2));
    assert_eq!((claimed.next_event, claimed.claims_without_progress), (EventId(3), 1));
    assert_eq!((claimed.owner_lost, claimed.blocked_attempts), (false, 0));
    assert!(claimed.epoch > run.epoch);
    if let Some(brought) = claimed.history {
        assert_eq!(vec![brought], next.history);
    }
    assert_eq!(history(harness, next.run_id).await, next.history);
    let ended = [first_history, rows(run.next_event, 3)].concat();
    assert_eq!(history(harness, run.run_id).await, ended, "the run that ended keeps its history");
}

/// G5: unread messages stay for the next run, read ones do not come back, and a repeat of either is still known.
pub async fn messages_and_their_dedup_keys_outlive_a_run_that_continues(harness: &Harness) {
    let worker = Incarnation::fresh();
    let mut run = harness.owned("run", worker).await;
    let requests = [RequestId::fresh(), RequestId::fresh(), RequestId::fresh()];
    for request in requests {
        assert_eq!(harness.cancel(run.instance, request).await, SendOutcome::Accepted);
    }
    for generation in 1..=3 {
        let next = next_run();
        let consumed = RunCommit { consumed_through: InboxSeq(generation), ..go_on(&run, &next) };
        let receipt = harness.commit(worker, consumed, at(2)).await.unwrap();
        assert_eq!((receipt.status, receipt.inbox_seq), (Status::Runnable, InboxSeq(3)));
        for request in requests {
            assert_eq!(harness.cancel(run.instance, request).await, SendOutcome::Duplicate);
        }
        let read = InboxRead { instance: run.instance, after: InboxSeq(0) };
        let unread = harness.provider().inbox_read(read).await.unwrap();
        let expected: Vec<_> = (generation + 1..=3).collect();
        assert_eq!(unread.iter().map(|message| message.seq.0).collect::<Vec<_>>(), expected);
        run = harness.claim_one(worker, at(2)).await;
        assert_eq!(run.inbox, unread);
    }
    let wait = RunCommit { disposition: Disposition::Wait { wake_at: None }, ..Harness::commit_params(&run) };
    assert_eq!(harness.commit(worker, wait, at(3)).await.unwrap().status, Status::Waiting);
    assert_eq!(harness.cancel(run.instance, RequestId::fresh()).await, SendOutcome::Accepted);
    assert_eq!(harness.view(run.instance).await.status, Status::Runnable);
}

/// G2: activity rows of the run that ended are gone, those of its last commit among them, and whoever runs one is told
/// so; the next run has commands of the same ids.
pub async fn what_a_run_had_asked_for_is_gone_when_it_continues(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.with_rows("run", vec![Harness::row(1), Harness::row(2)]).await;
    let running = harness.claim_rows(worker, at(1)).await;
    assert_eq!(running.len(), 2);
    harness.cancel(run.instance, RequestId::fresh()).await;
    let owned = harness.claim_one(worker, at(1)).await;
    let next = next_run();
    let last = RunCommit {
        activities: vec![ActivityChange::Insert(Harness::row(3)), ActivityChange::Remove(CommandId(1))],
        consumed_through: InboxSeq(1),
        ..go_on(&owned, &next)
    };
    harness.commit(worker, last, at(1)).await.unwrap();
    for row in &running {
        let late = outcome(row, worker, at(1));
        let mut answers = harness.provider().activity_settle(vec![late]).await.unwrap();
        refused(answers.remove(0), ErrorKind::LeaseLost);
    }
    let claimed = harness.claim_one(worker, at(1)).await;
    assert!(claimed.activity_rows.is_empty() && claimed.inbox.is_empty(), "{claimed:?}");
    assert!(harness.claim_rows(worker, at(1)).await.is_empty());
    let again = RunCommit {
        activities: vec![ActivityChange::Insert(Harness::row(1))],
        disposition: Disposition::Wait { wake_at: None },
        ..Harness::commit_params(&claimed)
    };
    harness.commit(worker, again, at(1)).await.unwrap();
    let row = harness.claim_rows(worker, at(1)).await.remove(0);
    assert_eq!((row.run_id, row.command), (next.run_id, CommandId(1)));
}

/// G2, G3: a continuation that is repeated after a lost answer finds itself; one by somebody who is no longer the owner,
/// of a run that has ended, or into a run that is there already begins nothing.
pub async fn a_repeated_or_stale_continuation_begins_no_second_run(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let other = harness.owned("other", worker).await;
    let next = next_run();
    let commit = go_on(&run, &next);
    let receipt = harness.commit(worker, commit.clone(), at(1)).await.unwrap();
    let stored = harness.stored(&[run.instance, other.instance]).await;
    assert_eq!(harness.commit(worker, commit.clone(), at(1)).await.unwrap(), receipt);
    assert_eq!(harness.stored(&[run.instance, other.instance]).await, stored, "it found itself");
    let stale = RunCommit { flush: FlushId::fresh(), ..go_on(&run, &next_run()) };
    refused(harness.commit(worker, stale, at(1)).await, ErrorKind::LeaseLost);
    for known in [next.run_id, run.run_id] {
        let into = NextRunStart { run_id: known, ..next_run() };
        refused(harness.commit_all(worker, vec![go_on(&other, &into)], at(1)).await, ErrorKind::Conflict);
    }
    let fresh = next_run();
    let continued = harness.claim_one(worker, at(1)).await;
    let twice = [go_on(&other, &fresh), go_on(&continued, &fresh)];
    let before = harness.stored(&[run.instance, other.instance]).await;
    refused(harness.commit_all(worker, twice.to_vec(), at(1)).await, ErrorKind::Conflict);
    assert_eq!(harness.stored(&[run.instance, other.instance]).await, before);
    harness.commit(worker, twice[0].clone(), at(1)).await.unwrap();
    let successor = Harness::commit_params(&continued);
    harness.commit(worker, successor, at(1)).await.unwrap();
    refused(harness.commit(worker, commit, at(1)).await, ErrorKind::LeaseLost);
}

/// G15: a run cannot continue in itself, without a beginning or with a gap in it, and an instance is not closed as
/// continued; nothing is written.
pub async fn a_continuation_that_makes_no_sense_is_refused(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let stored = harness.stored(&[run.instance]).await;
    let itself = NextRunStart { run_id: run.run_id, ..next_run() };
    let empty = NextRunStart { history: Vec::new(), ..next_run() };
    let late = NextRunStart { history: rows(EventId(2), 1), ..next_run() };
    let gap = [rows(EventId::FIRST, 1), rows(EventId(3), 1)].concat();
    let gap = NextRunStart { history: gap, ..next_run() };
    let closed = Disposition::Close { status: Status::ContinuedAsNew, outcome: Bytes::from_static(b"o") };
    let mut bad: Vec<_> = [itself, empty, late, gap].iter().map(|next| go_on(&run, next)).collect();
    bad.push(RunCommit { disposition: closed, ..Harness::commit_params(&run) });
    for commit in bad {
        refused(harness.commit(worker, commit, at(1)).await, ErrorKind::Invalid);
        assert_eq!(harness.stored(&[run.instance]).await, stored);
    }
    let next =
        NextRunStart { history: [rows(EventId::FIRST, 1), rows(EventId(2), 4)].concat(), ..next_run() };
    let receipt = harness.commit(worker, go_on(&run, &next), at(1)).await.unwrap();
    assert_eq!(receipt.next_event, EventId(6), "several rows begin a run");
    assert_eq!(history(harness, next.run_id).await, next.history);
}

/// G2: runs that continue, close, stay and are no longer owned, in one batch: each has its own answer.
pub async fn continuations_and_ends_in_one_batch_hurt_no_other(harness: &Harness) {
    let worker = Incarnation::fresh();
    let mut runs = Vec::new();
    for id in ["goes on", "ends", "stays", "stale", "goes on too"] {
        runs.push(harness.owned(id, worker).await);
    }
    let nexts = [next_run(), next_run()];
    let close = Disposition::Close { status: Status::Completed, outcome: Bytes::from_static(b"done") };
    let mut stale = go_on(&runs[3], &next_run());
    stale.epoch = durable_core::id::Epoch(stale.epoch.0 + 1);
    let batch = vec![
        go_on(&runs[4], &nexts[1]),
        RunCommit { disposition: close, ..Harness::commit_params(&runs[1]) },
        stale,
        RunCommit { history: rows(runs[2].next_event, 1), ..Harness::commit_params(&runs[2]) },
        go_on(&runs[0], &nexts[0]),
    ];
    let answers = harness.commit_all(worker, batch, at(1)).await.unwrap();
    let statuses: Vec<_> = answers.into_iter().map(|answer| answer.map(|receipt| receipt.status)).collect();
    assert_eq!(statuses[0].as_ref().unwrap(), &Status::Runnable);
    assert_eq!(statuses[1].as_ref().unwrap(), &Status::Completed);
    assert_eq!(statuses[2].as_ref().unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(statuses[3].as_ref().unwrap(), &Status::Executing);
    assert_eq!(statuses[4].as_ref().unwrap(), &Status::Runnable);
    let mut found: Vec<_> =
        harness.claim(worker, at(1)).await.into_iter().map(|run| (run.workflow_id, run.run_id)).collect();
    found.sort();
    let id = |name| durable_core::id::WorkflowId::new(name).unwrap();
    assert_eq!(found, [(id("goes on"), nexts[0].run_id), (id("goes on too"), nexts[1].run_id)]);
}
