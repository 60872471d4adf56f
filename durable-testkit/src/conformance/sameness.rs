//! The same input, the same answer, whatever the backend (G15); and work that is not due costs nothing (G9).

use std::time::Duration;

use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{BuildId, CommandId, EventId, Incarnation, QueueName, SlotName, WorkflowId};
use durable_core::limits::{NAME_MAX_BYTES, PAYLOAD_MAX_BYTES, TIMER_MAX};
use durable_core::provider::{
    ActivityChange, ActivityOutcome, BlockChange, CancelRequest, Disposition, ErrorKind, HistoryRead,
    InboxRead, NewActivityRow, ProviderError, RunCommit, Status, WorkflowClaim,
};
use durable_core::time::Timestamp;

use super::activities::{outcome, retry};
use super::harness::{Harness, at, refused};

fn bad_names() -> [String; 5] {
    let long = "x".repeat(NAME_MAX_BYTES + 1);
    [String::new(), long, "🦀".repeat(64), "a\0b".to_owned(), "\0".to_owned()]
}

/// G15: an empty name, one of 256 bytes and one with a NUL are refused as what they are, wherever a name goes in,
/// and hurt no other start and no other commit.
pub async fn names_that_no_backend_takes_are_refused_alike(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let stored = harness.stored(&[run.instance]).await;
    for name in bad_names() {
        assert!(WorkflowId::new(name.as_str()).is_err() && QueueName::new(name.as_str()).is_err());
        assert!(BuildId::new(name.as_str()).is_err() && SlotName::new(name.as_str()).is_err());
        let mut start = Harness::start_params("other");
        start.workflow_type.clone_from(&name);
        let error = refused(harness.start_with(start).await, ErrorKind::Invalid);
        assert!(error.to_string().starts_with("workflow type "), "{error}");
        let row = NewActivityRow { activity_type: name, ..Harness::row(1) };
        let commit =
            RunCommit { activities: vec![ActivityChange::Insert(row)], ..Harness::commit_params(&run) };
        let error = refused(harness.commit(worker, commit, at(1)).await, ErrorKind::Invalid);
        assert!(error.to_string().starts_with("activity type "), "{error}");
    }
    assert_eq!(harness.stored(&[run.instance]).await, stored);
    let mut bad = Harness::start_params("bad");
    "a\0b".clone_into(&mut bad.workflow_type);
    let starts = vec![Harness::start_params("one"), bad, Harness::start_params("two")];
    let answers = harness.provider().workflow_start(starts).await.unwrap();
    let kinds: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(ProviderError::kind)).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Invalid), None]);
    let longest = "é".repeat(127) + "x";
    let row = NewActivityRow { activity_type: longest.clone(), ..Harness::row(1) };
    let commit = RunCommit { activities: vec![ActivityChange::Insert(row)], ..Harness::commit_params(&run) };
    harness.commit(worker, commit, at(1)).await.unwrap();
    assert_eq!(harness.claim_rows_of(worker, &[&longest], at(1)).await[0].activity_type, longest);
}

/// G15: the limit of payloads is kept above the provider; around it, and well above it, everything comes back whole.
pub async fn payloads_around_the_limit_come_back_whole(harness: &Harness) {
    let sizes = [0, PAYLOAD_MAX_BYTES - 1, PAYLOAD_MAX_BYTES, PAYLOAD_MAX_BYTES + 1, PAYLOAD_MAX_BYTES * 4];
    for (number, size) in sizes.into_iter().enumerate() {
        let bytes: Bytes = (0..=255_u8).cycle().take(size).collect();
        let text = "\0".repeat(size);
        let worker = Incarnation::fresh();
        let run = harness.owned(&format!("run-{number}"), worker).await;
        let row =
            NewActivityRow { task: bytes.clone(), last_failure: Some(bytes.clone()), ..Harness::row(1) };
        let history = vec![EncodedBatch { first: EventId(2), next: EventId(3), bytes: bytes.clone() }];
        let commit = RunCommit {
            history: history.clone(),
            activities: vec![ActivityChange::Insert(row)],
            block: BlockChange::Set { reason: text.clone(), build: BuildId::new("b1").unwrap() },
            ..Harness::commit_params(&run)
        };
        harness.commit(worker, commit, at(1)).await.unwrap();
        let read = HistoryRead { run_id: run.run_id, from: EventId(2), max_bytes: 1 };
        assert!(harness.provider().history_read(read).await.unwrap().rows == history, "{size}");
        assert!(harness.view(run.instance).await.blocked.unwrap().reason == text, "{size}");
        let claimed = harness.claim_rows(worker, at(1)).await.remove(0);
        assert!(claimed.task == bytes && claimed.last_failure.as_ref() == Some(&bytes), "{size}");
        let settled = ActivityOutcome { message: bytes.clone(), ..outcome(&claimed, worker, at(1)) };
        harness.provider().activity_settle(vec![settled]).await.unwrap().remove(0).unwrap();
        let cancel = CancelRequest {
            instance: run.instance,
            reason: text.clone(),
            request_id: durable_core::id::RequestId::fresh(),
            now: Some(at(1)),
        };
        harness.provider().cancel_request(cancel).await.unwrap();
        let read = InboxRead { instance: run.instance, after: durable_core::id::InboxSeq(0) };
        let messages = harness.provider().inbox_read(read).await.unwrap();
        assert!(messages[0].body == bytes && messages[1].body == text.as_bytes(), "{size}");
        let disposition = Disposition::Close { status: Status::Failed, outcome: bytes.clone() };
        let close = RunCommit { expected_next: EventId(3), disposition, ..Harness::commit_params(&run) };
        harness.commit(worker, close, at(1)).await.unwrap();
        assert!(harness.view(run.instance).await.outcome == Some(bytes), "{size}");
    }
}

/// G15: durations from nothing to for ever mean the same everywhere; sums stop at the end of time.
pub async fn durations_mean_the_same_everywhere(harness: &Harness) {
    const END: Timestamp = Timestamp::from_micros(i64::MAX);
    let worker = Incarnation::fresh();
    for (number, (delay, due)) in
        [(TIMER_MAX, at(0).plus(TIMER_MAX)), (Duration::MAX, END), (Duration::from_nanos(1), at(0))]
            .into_iter()
            .enumerate()
    {
        harness.start(&format!("run-{number}")).await;
        let claim = WorkflowClaim { lease: Duration::MAX, ..Harness::claim_params(worker, at(0)) };
        let run = harness.provider().workflow_claim(claim).await.unwrap().runs.remove(0);
        let block = BlockChange::Set { reason: "why".to_owned(), build: BuildId::new("b1").unwrap() };
        let mut row = Harness::row(1);
        row.delay = delay;
        let release = RunCommit {
            activities: vec![ActivityChange::Insert(row)],
            block,
            disposition: Disposition::Block { retry_after: Some(delay) },
            ..Harness::commit_params(&run)
        };
        harness.commit(worker, release, at(0)).await.unwrap();
        assert_eq!(harness.view(run.instance).await.blocked.unwrap().retry_at, Some(due), "{delay:?}");
        let rows = harness.claim_rows(worker, at(0)).await;
        assert_eq!(rows.len(), usize::from(due == at(0)), "{delay:?}");
        for row in rows {
            let again = retry(&row, worker, Duration::MAX, at(0));
            harness.provider().activity_retry(vec![again]).await.unwrap().remove(0).unwrap();
        }
        assert_eq!(harness.claim_rows(worker, at(3_000_000_000)).await.len(), 0, "{delay:?}");
    }
}

/// G9: ten thousand rows that are not yet due, and runs that wait, stand before the one that is: it is claimed, in
/// a page of one.
pub async fn work_that_is_not_due_hides_nothing(harness: &Harness) {
    const LATER: u64 = 10_000;
    let mut later: Vec<_> = (2..=LATER).map(Harness::row).collect();
    for row in &mut later {
        row.priority = 0;
        row.delay = Duration::from_hours(1);
    }
    let mut due = Harness::row(1);
    due.priority = 9;
    later.push(due);
    harness.with_rows("rows", later).await;
    for number in 0..200 {
        let mut start = Harness::start_params(&format!("later-{number}"));
        (start.priority, start.now) = (0, Some(at(3600)));
        harness.start_with(start).await.unwrap();
    }
    let mut start = Harness::start_params("due");
    start.priority = 9;
    harness.start_with(start).await.unwrap();
    let worker = Incarnation::fresh();
    let claim = WorkflowClaim { limit: 1, ..Harness::claim_params(worker, at(1)) };
    let runs = harness.provider().workflow_claim(claim).await.unwrap().runs;
    assert_eq!(runs.iter().map(|run| run.workflow_id.as_str()).collect::<Vec<_>>(), ["due"]);
    let rows = harness.claim_rows(worker, at(1)).await;
    assert_eq!(rows.iter().map(|row| row.command).collect::<Vec<_>>(), [CommandId(1)]);
}
