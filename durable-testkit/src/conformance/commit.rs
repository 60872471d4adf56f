//! Commits: all or nothing, and only by the owner (G2, G3).

use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{BuildId, EventId, FlushId, InboxSeq, Incarnation, RequestId, RunId};
use durable_core::provider::{
    ActivityChange, BlockChange, ClaimedRun, Disposition, ErrorKind, HistoryRead, InboxRead, ProviderError,
    RunCommit, SendOutcome, Status, SweepReport,
};

use super::activities::outcome;
use super::harness::{Harness, at, refused, rows};

/// A commit that would change everything.
fn full_commit(run: &ClaimedRun, disposition: Disposition) -> RunCommit {
    RunCommit {
        history: rows(run.next_event, 3),
        consumed_through: InboxSeq(1),
        activities: vec![ActivityChange::Insert(Harness::row(9))],
        progress: true,
        block: BlockChange::Set { reason: "why".to_owned(), build: BuildId::new("b1").unwrap() },
        disposition,
        ..Harness::commit_params(run)
    }
}

fn dispositions() -> Vec<Disposition> {
    vec![
        Disposition::Keep,
        Disposition::Wait { wake_at: Some(at(99)) },
        Disposition::Yield,
        Disposition::Block { retry_after: None },
        Disposition::Close { status: Status::Completed, outcome: Bytes::from_static(b"done") },
    ]
}

/// G3: another owner, a stale or forged epoch, another expected event, another run, an expired lease: each
/// is refused for every kind of end, and nothing changes.
pub async fn a_commit_whose_guard_does_not_hold_changes_nothing(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    harness.cancel(run.instance, RequestId::fresh()).await;
    let before = harness.picture(run.instance).await;
    for disposition in dispositions() {
        let good = || full_commit(&run, disposition.clone());
        let mut stale = good();
        stale.epoch.0 -= 1;
        let mut forged = good();
        forged.epoch.0 += 1;
        let mut overlapping = good();
        overlapping.expected_next = EventId(1);
        overlapping.history = rows(EventId(1), 3);
        let mut ahead = good();
        ahead.expected_next = EventId(7);
        ahead.history = rows(EventId(7), 3);
        let mut other_run = good();
        other_run.run_id = RunId::fresh();
        let mut unknown = good();
        unknown.instance.0 += 1000;
        for commit in [stale, forged, overlapping, ahead, other_run, unknown] {
            refused(harness.commit(worker, commit, at(1)).await, ErrorKind::LeaseLost);
        }
        refused(harness.commit(Incarnation::fresh(), good(), at(1)).await, ErrorKind::LeaseLost);
        refused(harness.commit(worker, good(), at(30)).await, ErrorKind::LeaseLost);
    }
    assert_eq!(harness.picture(run.instance).await, before);
    assert!(harness.claim_rows(worker, at(1)).await.is_empty());
    harness.commit(worker, full_commit(&run, Disposition::Keep), at(29)).await.unwrap();
}

/// G3: after a lost answer the retry finds its own flush, for every kind of end, and writes nothing twice.
pub async fn the_same_flush_again_has_succeeded_before(harness: &Harness) {
    for (number, disposition) in dispositions().into_iter().enumerate() {
        let worker = Incarnation::fresh();
        let run = harness.owned(&format!("run-{number}"), worker).await;
        let commit = full_commit(&run, disposition);
        let first = harness.commit(worker, commit.clone(), at(1)).await.unwrap();
        assert_eq!(first.next_event, EventId(5));
        let picture = harness.picture(run.instance).await;
        let again = harness.commit(worker, commit.clone(), at(2)).await.unwrap();
        assert_eq!((again.next_event, again.status), (first.next_event, first.status));
        assert_eq!(harness.picture(run.instance).await, picture);
        let other = RunCommit { flush: FlushId::fresh(), ..commit };
        refused(harness.commit(worker, other, at(2)).await, ErrorKind::LeaseLost);
        // Out of the way of the next round's claim.
        harness.claim(Incarnation::fresh(), at(2)).await;
    }
}

/// G2, G5: a flush that adds no event leaves the next event as it was; repeated, it finds itself all the same, also
/// when what it wrote is gone meanwhile.
pub async fn a_repeated_flush_without_events_writes_nothing_twice(harness: &Harness) {
    let (worker, other) = (Incarnation::fresh(), Incarnation::fresh());
    let run = harness.owned("run", worker).await;
    let commit = RunCommit {
        activities: vec![ActivityChange::Insert(Harness::row(1))],
        ..Harness::commit_params(&run)
    };
    let first = harness.commit(worker, commit.clone(), at(1)).await.unwrap();
    let again = harness.commit(worker, commit.clone(), at(1)).await.unwrap();
    assert_eq!((again.next_event, again.status), (first.next_event, first.status));
    let claimed = harness.claim_rows(other, at(2)).await.remove(0);
    let settled = harness.provider().activity_settle(vec![outcome(&claimed, other, at(2))]).await.unwrap();
    assert!(settled[0].is_ok(), "{settled:?}");
    let late = harness.commit(worker, commit, at(3)).await.unwrap();
    assert_eq!(late.inbox_seq, InboxSeq(1));
    assert!(harness.claim_rows(other, at(3)).await.is_empty(), "an activity that has ended is queued again");
}

/// G2: the answer of each member is its own.
pub async fn a_stale_member_hurts_no_other(harness: &Harness) {
    let worker = Incarnation::fresh();
    let mut runs = Vec::new();
    for id in ["a", "b", "c", "d"] {
        runs.push(harness.owned(id, worker).await);
    }
    let mut commits: Vec<_> = runs.iter().map(|run| full_commit(run, Disposition::Yield)).collect();
    commits[1].epoch.0 += 1;
    commits[2].history[0].first = EventId(9);
    let answers = harness.commit_all(worker, commits, at(1)).await.unwrap();
    let kinds: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(ProviderError::kind)).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::LeaseLost), Some(ErrorKind::Invalid), None]);
    for (run, events) in runs.iter().zip([4, 1, 1, 4]) {
        assert_eq!(harness.view(run.instance).await.events, events, "{}", run.workflow_id);
    }
}

/// G2: rows that overlap, leave a gap or hold nothing never get in.
pub async fn history_rows_must_follow_each_other(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let row = |first: u64, next: u64| EncodedBatch {
        first: EventId(first),
        next: EventId(next),
        bytes: Bytes::from_static(b"x"),
    };
    for bad in [
        vec![row(1, 3)],
        vec![row(3, 4)],
        vec![row(2, 2)],
        vec![row(2, 4), row(3, 5)],
        vec![row(2, 3), row(4, 5)],
    ] {
        let commit = RunCommit { history: bad, ..Harness::commit_params(&run) };
        refused(harness.commit(worker, commit, at(1)).await, ErrorKind::Invalid);
    }
    let open = Disposition::Close { status: Status::Waiting, outcome: Bytes::new() };
    let commit = RunCommit { disposition: open, ..Harness::commit_params(&run) };
    refused(harness.commit(worker, commit, at(1)).await, ErrorKind::Invalid);
    let commit = RunCommit { history: vec![row(2, 4), row(4, 5)], ..Harness::commit_params(&run) };
    assert_eq!(harness.commit(worker, commit, at(1)).await.unwrap().next_event, EventId(5));
}

/// G2: a constraint fails the whole batch and leaves nothing of it; the caller tries its halves.
pub async fn a_second_row_of_one_command_fails_the_batch_whole(harness: &Harness) {
    let worker = Incarnation::fresh();
    let good = harness.owned("good", worker).await;
    let bad = harness.owned("bad", worker).await;
    let before = (harness.picture(good.instance).await, harness.picture(bad.instance).await);
    let twice = vec![ActivityChange::Insert(Harness::row(1)), ActivityChange::Insert(Harness::row(1))];
    let commits = vec![
        full_commit(&good, Disposition::Yield),
        RunCommit { activities: twice, ..full_commit(&bad, Disposition::Yield) },
    ];
    refused(harness.commit_all(worker, commits.clone(), at(1)).await, ErrorKind::Conflict);
    assert_eq!((harness.picture(good.instance).await, harness.picture(bad.instance).await), before);
    assert!(harness.claim_rows(worker, at(1)).await.is_empty());
    harness.commit(worker, commits[0].clone(), at(1)).await.unwrap();
}

/// G2: a turn of 10,000 commands is one commit.
pub async fn ten_thousand_rows_commit_whole(harness: &Harness) {
    const ROWS: u64 = 10_000;
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let commit = RunCommit {
        history: (0..ROWS).flat_map(|number| rows(EventId(2 + number), 1)).collect(),
        activities: (1..=ROWS).map(|number| ActivityChange::Insert(Harness::row(number))).collect(),
        disposition: Disposition::Yield,
        ..Harness::commit_params(&run)
    };
    assert_eq!(harness.commit(worker, commit, at(1)).await.unwrap().next_event, EventId(ROWS + 2));
    let again = harness.claim_one(worker, at(1)).await;
    assert_eq!(again.activity_rows.len() as u64, ROWS);
    let read = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    assert_eq!(harness.provider().history_read(read).await.unwrap().rows.len() as u64, ROWS + 1);
}

/// G15: payloads, reasons and outcomes are any bytes, NUL included.
pub async fn any_bytes_come_back_as_they_were(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let bytes: Bytes = (0..=255_u8).cycle().take(100_000).collect();
    let mut row = Harness::row(1);
    row.task = bytes.clone();
    row.last_failure = Some(bytes.clone());
    let history = vec![EncodedBatch { first: EventId(2), next: EventId(3), bytes: bytes.clone() }];
    let reason = "why\0not 🦀 '; --".to_owned();
    let commit = RunCommit {
        history: history.clone(),
        activities: vec![ActivityChange::Insert(row)],
        block: BlockChange::Set { reason: reason.clone(), build: BuildId::new("b1").unwrap() },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, commit, at(1)).await.unwrap();
    assert_eq!(harness.view(run.instance).await.blocked.unwrap().reason, reason);
    let claimed = harness.claim_rows(worker, at(1)).await.remove(0);
    assert_eq!((claimed.task, claimed.last_failure), (bytes.clone(), Some(bytes.clone())));
    let read = HistoryRead { run_id: run.run_id, from: EventId(2), max_bytes: 1 };
    assert_eq!(harness.provider().history_read(read).await.unwrap().rows, history);
    let close = RunCommit {
        expected_next: EventId(3),
        disposition: Disposition::Close { status: Status::Failed, outcome: bytes.clone() },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, close, at(2)).await.unwrap();
    assert_eq!(harness.view(run.instance).await.outcome, Some(bytes));
}

/// G12: a page has at least one row and stops when it is full; the last one says so.
pub async fn history_is_read_in_pages(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let commit = RunCommit {
        history: [rows(EventId(2), 2), rows(EventId(4), 1), rows(EventId(5), 5)].concat(),
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, commit, at(1)).await.unwrap();
    for (max_bytes, pages) in [(0, 4), (1, 4), (20, 2), (1000, 1)] {
        let mut from = Some(EventId::FIRST);
        let (mut seen, mut count) = (Vec::new(), 0);
        while let Some(first) = from {
            let read = HistoryRead { run_id: run.run_id, from: first, max_bytes };
            let page = harness.provider().history_read(read).await.unwrap();
            seen.extend(page.rows.iter().map(|row| row.first.0));
            from = page.next;
            count += 1;
        }
        assert_eq!((seen, count), (vec![1, 2, 4, 5], pages), "{max_bytes}");
    }
    let end = HistoryRead { run_id: run.run_id, from: EventId(10), max_bytes: 1 };
    let page = harness.provider().history_read(end).await.unwrap();
    assert!(page.rows.is_empty() && page.next.is_none());
    let middle = HistoryRead { run_id: run.run_id, from: EventId(3), max_bytes: 1 };
    let error = refused(harness.provider().history_read(middle).await, ErrorKind::Corrupt);
    assert!(error.to_string().contains("3 to 3"), "{error}");
    let unknown = HistoryRead { run_id: RunId::fresh(), from: EventId(1), max_bytes: 1 };
    refused(harness.provider().history_read(unknown).await, ErrorKind::NotFound);
}

/// G7: a commit that keeps the run renews its lease.
pub async fn a_kept_run_has_its_lease_renewed_never_shortened(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    harness.commit(worker, Harness::commit_params(&run), at(20)).await.unwrap();
    // A clock that went back does not take what was given.
    harness.commit(worker, Harness::commit_params(&run), at(5)).await.unwrap();
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(49))).await.unwrap(), SweepReport::default());
    assert_eq!(harness.provider().lease_reap(Harness::sweep(at(50))).await.unwrap().instances, 1);
}

/// What becomes of a released run is what the commit asked for, by the database's clock.
pub async fn a_released_run_waits_or_runs_as_it_asked(harness: &Harness) {
    for (id, disposition, expected) in [
        ("none", Disposition::Wait { wake_at: None }, Status::Waiting),
        ("later", Disposition::Wait { wake_at: Some(at(11)) }, Status::Waiting),
        ("due", Disposition::Wait { wake_at: Some(at(10)) }, Status::Runnable),
        ("yield", Disposition::Yield, Status::Runnable),
        ("block", Disposition::Block { retry_after: Some(std::time::Duration::ZERO) }, Status::Blocked),
    ] {
        let worker = Incarnation::fresh();
        let run = harness.owned(id, worker).await;
        let release = RunCommit { disposition, ..Harness::commit_params(&run) };
        assert_eq!(harness.commit(worker, release.clone(), at(10)).await.unwrap().status, expected, "{id}");
        assert_eq!(harness.view(run.instance).await.status, expected, "{id}");
        let again = RunCommit { flush: FlushId::fresh(), ..release };
        refused(harness.commit(worker, again, at(10)).await, ErrorKind::LeaseLost);
        for run in harness.claim(worker, at(10)).await {
            assert!(!run.owner_lost, "{id}");
        }
    }
}

/// G2: closing removes messages and rows, keeps the outcome, and frees the workflow id.
pub async fn a_closed_run_gives_its_id_back_and_refuses_writes(harness: &Harness) {
    let run = harness.with_rows("run", vec![Harness::row(1)]).await;
    let holder = Incarnation::fresh();
    let held = harness.claim_rows(holder, at(0)).await.remove(0);
    assert_eq!(harness.cancel(run.instance, RequestId::fresh()).await, SendOutcome::Accepted);
    let worker = Incarnation::fresh();
    let run = harness.claim_one(worker, at(1)).await;
    let close = RunCommit {
        history: rows(run.next_event, 1),
        // A removal of what is not there, and an insert that dies with the run.
        activities: vec![
            ActivityChange::Remove(durable_core::id::CommandId(77)),
            ActivityChange::Insert(Harness::row(2)),
        ],
        disposition: Disposition::Close { status: Status::Canceled, outcome: Bytes::from_static(b"c") },
        ..Harness::commit_params(&run)
    };
    assert_eq!(harness.commit(worker, close, at(2)).await.unwrap().status, Status::Canceled);
    let view = harness.view(run.instance).await;
    assert_eq!(
        (view.status, view.closed_at, view.outcome),
        (Status::Canceled, Some(at(2)), Some("c".into()))
    );
    let read = InboxRead { instance: run.instance, after: InboxSeq(0) };
    assert!(harness.provider().inbox_read(read).await.unwrap().is_empty());
    let reaped = harness.provider().lease_reap(Harness::sweep(at(100))).await.unwrap();
    assert_eq!(reaped, SweepReport::default());
    assert!(harness.claim_rows(worker, at(100)).await.is_empty());
    let late = super::activities::outcome(&held, holder, at(2));
    refused(harness.provider().activity_settle(vec![late]).await.unwrap().remove(0), ErrorKind::LeaseLost);
    let mut again = Harness::start_params("run");
    again.policy = durable_core::provider::IdPolicy::AllowAfterClose;
    harness.start_with(again).await.unwrap();
    let found = harness.provider().instance_find(&run.workflow_id).await.unwrap().unwrap();
    assert_ne!(found.instance, run.instance);
    assert_eq!(found.status, Status::Runnable);
}
