//! Messages: none lost, none twice (G5, G6).

use bytes::Bytes;
use durable_core::id::{InboxSeq, Incarnation, InstanceId, RequestId};
use durable_core::provider::{
    CancelRequest, Disposition, ErrorKind, InboxRead, RunCommit, SendOutcome, Status,
};

use super::harness::{Harness, at, refused};

/// G6: a release that has not seen the last message is runnable; one that has waits.
pub async fn a_release_with_an_unread_message_is_runnable(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    harness.cancel(run.instance, RequestId::fresh()).await;
    harness.cancel(run.instance, RequestId::fresh()).await;
    let wait = |run, seen| RunCommit {
        consumed_through: InboxSeq(seen),
        disposition: Disposition::Wait { wake_at: Some(at(500)) },
        ..Harness::commit_params(run)
    };
    let receipt = harness.commit(worker, wait(&run, 1), at(2)).await.unwrap();
    assert_eq!((receipt.status, receipt.inbox_seq), (Status::Runnable, InboxSeq(2)));
    let run = harness.claim_one(worker, at(2)).await;
    assert_eq!(run.inbox.iter().map(|message| message.seq.0).collect::<Vec<_>>(), [2]);
    assert_eq!(harness.commit(worker, wait(&run, 2), at(3)).await.unwrap().status, Status::Waiting);
}

/// G6: a message makes a waiting run runnable at once; a blocked one keeps it for later.
pub async fn a_message_wakes_a_waiting_run_but_no_blocked_one(harness: &Harness) {
    let waiting = harness.waiting("waiting", Some(at(1000))).await;
    let worker = Incarnation::fresh();
    let run = harness.owned("blocked", worker).await;
    let block = RunCommit {
        disposition: Disposition::Block { retry_after: Some(std::time::Duration::from_mins(1)) },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, block, at(0)).await.unwrap();
    harness.cancel(waiting, RequestId::fresh()).await;
    harness.cancel(run.instance, RequestId::fresh()).await;
    assert_eq!(harness.view(waiting).await.status, Status::Runnable);
    assert_eq!(harness.view(run.instance).await.status, Status::Blocked);
    assert_eq!(harness.claim_one(worker, at(1)).await.instance, waiting);
    harness.provider().due_sweep(Harness::sweep(at(60))).await.unwrap();
    assert_eq!(harness.claim_one(worker, at(60)).await.inbox.len(), 1);
}

/// G5: one request id is one message: sent at once from many sides, and again after it was consumed.
pub async fn a_cancel_request_is_one_message_however_often_it_is_sent(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let request = RequestId::fresh();
    let senders: Vec<_> = (0..8)
        .map(|_| {
            let (harness, instance) = (harness.clone(), run.instance);
            tokio::spawn(async move { harness.cancel(instance, request).await })
        })
        .collect();
    let mut accepted = 0;
    for sender in senders {
        match sender.await.unwrap() {
            SendOutcome::Accepted => accepted += 1,
            other => assert_eq!(other, SendOutcome::Duplicate),
        }
    }
    assert_eq!(accepted, 1);
    let consumed = RunCommit { consumed_through: InboxSeq(1), ..Harness::commit_params(&run) };
    assert_eq!(harness.commit(worker, consumed, at(2)).await.unwrap().inbox_seq, InboxSeq(1));
    assert_eq!(harness.cancel(run.instance, request).await, SendOutcome::Duplicate);
    let read = InboxRead { instance: run.instance, after: InboxSeq(0) };
    assert!(harness.provider().inbox_read(read).await.unwrap().is_empty());
}

/// A closed instance says so and changes no more; an unknown one is an error.
pub async fn a_cancel_request_is_told_the_truth(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    let request = RequestId::fresh();
    assert_eq!(harness.cancel(run.instance, request).await, SendOutcome::Accepted);
    let close = RunCommit {
        disposition: Disposition::Close { status: Status::Completed, outcome: Bytes::new() },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, close, at(2)).await.unwrap();
    let before = harness.picture(run.instance).await;
    assert_eq!(harness.cancel(run.instance, RequestId::fresh()).await, SendOutcome::Closed);
    assert_eq!(harness.cancel(run.instance, request).await, SendOutcome::Closed);
    assert_eq!(harness.picture(run.instance).await, before);
    let unknown = CancelRequest {
        instance: InstanceId(run.instance.0 + 1000),
        reason: String::new(),
        request_id: RequestId::fresh(),
        now: Some(at(3)),
    };
    refused(harness.provider().cancel_request(unknown).await, ErrorKind::NotFound);
}

/// G5: what was consumed is gone, what came during the turn is next, in order.
pub async fn consumed_messages_are_gone_and_later_ones_stay_in_order(harness: &Harness) {
    let worker = Incarnation::fresh();
    let run = harness.owned("run", worker).await;
    for _ in 0..5 {
        harness.cancel(run.instance, RequestId::fresh()).await;
    }
    let consumed = RunCommit { consumed_through: InboxSeq(3), ..Harness::commit_params(&run) };
    harness.commit(worker, consumed, at(2)).await.unwrap();
    assert_eq!(harness.provider().inbox_pending(worker).await.unwrap(), [run.instance]);
    for (after, expected) in [(0, vec![4, 5]), (4, vec![5]), (5, vec![])] {
        let read = InboxRead { instance: run.instance, after: InboxSeq(after) };
        let seqs: Vec<_> = harness
            .provider()
            .inbox_read(read)
            .await
            .unwrap()
            .into_iter()
            .map(|message| message.seq.0)
            .collect();
        assert_eq!(seqs, expected);
    }
    let rest = RunCommit { consumed_through: InboxSeq(5), ..Harness::commit_params(&run) };
    harness.commit(worker, rest, at(3)).await.unwrap();
    assert!(harness.provider().inbox_pending(worker).await.unwrap().is_empty());
}

/// G6: whichever is first, the run never waits with an unseen message.
pub async fn a_message_that_races_a_release_is_never_lost(harness: &Harness) {
    let instance = harness.start("run").await.instance;
    let mut seen = InboxSeq(0);
    for round in 1..=100 {
        let worker = Incarnation::fresh();
        let run = harness.claim_one(worker, at(1)).await;
        seen = run.inbox.last().map_or(seen, |message| message.seq);
        let release = RunCommit {
            consumed_through: seen,
            progress: true,
            disposition: Disposition::Wait { wake_at: None },
            ..Harness::commit_params(&run)
        };
        let sender = harness.clone();
        let (sent, released) = tokio::join!(
            tokio::spawn(async move { sender.cancel(instance, RequestId::fresh()).await }),
            harness.commit(worker, release, at(1)),
        );
        assert_eq!(sent.unwrap(), SendOutcome::Accepted);
        released.unwrap();
        assert_eq!(harness.view(instance).await.status, Status::Runnable, "round {round}");
    }
}
