//! Claims: who gets a run, in which order, and how often (G1, G8, G9).

use std::collections::HashSet;
use std::sync::Arc;

use durable_core::id::{EventId, Incarnation, QueueName, RequestId};
use durable_core::limits::CLAIM_HISTORY_BYTES;
use durable_core::provider::{
    BlockChange, Disposition, ErrorKind, HistoryRead, MessageKind, RunCommit, SendOutcome, Status,
    WorkflowClaim,
};
use tokio::sync::Barrier;

use super::harness::{Harness, at, refused, rows};

/// G1: eight claimers, forty runs: each is claimed exactly once.
pub async fn claimers_that_race_claim_each_run_once(harness: &Harness) {
    const CLAIMERS: usize = 8;
    const RUNS: usize = 40;
    for number in 0..RUNS {
        harness.start(&format!("run-{number}")).await;
    }
    let barrier = Arc::new(Barrier::new(CLAIMERS));
    let claimers: Vec<_> = (0..CLAIMERS)
        .map(|_| {
            let (harness, barrier) = (harness.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                let mut mine = Vec::new();
                loop {
                    let params =
                        WorkflowClaim { limit: 3, ..Harness::claim_params(Incarnation::fresh(), at(0)) };
                    let claimed = harness.provider().workflow_claim(params).await.unwrap();
                    if claimed.runs.is_empty() {
                        return mine;
                    }
                    mine.extend(claimed.runs.into_iter().map(|run| run.instance));
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.unwrap());
    }
    assert_eq!(all.len(), RUNS);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), RUNS);
}

/// G9: the order of claims is (priority, eligible time, id), and no page hides the rest.
pub async fn runs_are_claimed_by_priority_then_eligible_time_then_id(harness: &Harness) {
    for (id, priority, second) in [
        ("d", 5, 1),
        ("e", 5, 2),
        ("f", 5, 2),
        ("a", 0, 9),
        ("z", 9, 0),
        ("c", 5, 0),
        ("b", 1, 3),
        ("future", 0, 60),
    ] {
        let mut start = Harness::start_params(id);
        start.priority = priority;
        start.now = Some(at(second));
        harness.start_with(start).await.unwrap();
    }
    let mut order = Vec::new();
    loop {
        let params = WorkflowClaim { limit: 2, ..Harness::claim_params(Incarnation::fresh(), at(10)) };
        let claimed = harness.provider().workflow_claim(params).await.unwrap();
        if claimed.runs.is_empty() {
            break;
        }
        order.extend(claimed.runs.into_iter().map(|run| run.workflow_id.to_string()));
    }
    assert_eq!(order, ["a", "b", "c", "d", "e", "f", "z"]);
}

/// G9: one queue per claim, never more than asked for.
pub async fn a_claim_takes_its_own_queue_up_to_its_limit(harness: &Harness) {
    let other = QueueName::new("other").unwrap();
    for number in 0..3 {
        harness.start(&format!("here-{number}")).await;
        let start = Harness::start_params(&format!("there-{number}"));
        harness.start_with(durable_core::provider::StartRun { queue: other.clone(), ..start }).await.unwrap();
    }
    let params =
        WorkflowClaim { limit: 2, queue: other, ..Harness::claim_params(Incarnation::fresh(), at(0)) };
    let claimed = harness.provider().workflow_claim(params).await.unwrap();
    let ids: Vec<_> = claimed.runs.iter().map(|run| run.workflow_id.as_str()).collect();
    assert_eq!(ids, ["there-0", "there-1"]);
    let none = WorkflowClaim { limit: 0, ..Harness::claim_params(Incarnation::fresh(), at(0)) };
    assert!(harness.provider().workflow_claim(none).await.unwrap().runs.is_empty());
    assert_eq!(harness.claim(Incarnation::fresh(), at(0)).await.len(), 3);
}

/// G5: a claim brings what the owner needs: where history ends, unread messages in order, durable rows.
pub async fn a_claim_brings_the_run_with_its_messages_and_rows(harness: &Harness) {
    let first = harness.with_rows("run", vec![Harness::row(2), Harness::row(1)]).await;
    assert_eq!((first.epoch.0, first.next_event.0, first.run_number), (1, 2, 1));
    assert!(first.inbox.is_empty() && first.activity_rows.is_empty() && !first.owner_lost);
    for _ in 0..3 {
        assert_eq!(harness.cancel(first.instance, RequestId::fresh()).await, SendOutcome::Accepted);
    }
    let run = harness.claim_one(Incarnation::fresh(), at(1)).await;
    assert_eq!((run.instance, run.run_id, run.epoch.0), (first.instance, first.run_id, 2));
    assert_eq!(run.workflow_type, "checkout");
    assert_eq!(run.inbox.iter().map(|message| message.seq.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(run.inbox.iter().all(|message| message.kind == MessageKind::CancelRequest));
    assert_eq!(run.inbox[0].body, "no longer \0 wanted");
    assert_eq!(run.activity_rows.iter().map(|row| row.command.0).collect::<Vec<_>>(), [1, 2]);
}

/// G8: what is claimed too often without progress is given up, visibly, and hurts no other.
pub async fn claims_without_progress_dead_letter_at_the_maximum(harness: &Harness) {
    let poison = harness.start("poison").await.instance;
    for (round, second) in (1..=3).zip([0, 100, 200]) {
        let run = harness.claim_one(Incarnation::fresh(), at(second)).await;
        assert_eq!((run.claims_without_progress, run.owner_lost), (round, round > 1));
        harness.provider().lease_reap(Harness::sweep(at(second + 50))).await.unwrap();
    }
    let good = harness.start("good").await.instance;
    let claim = Harness::claim_params(Incarnation::fresh(), at(300));
    let claimed = harness.provider().workflow_claim(claim).await.unwrap();
    assert_eq!(claimed.dead_lettered, [poison]);
    assert_eq!(claimed.runs.iter().map(|run| run.instance).collect::<Vec<_>>(), [good]);
    let view = harness.view(poison).await;
    assert_eq!(view.status, Status::DeadLettered);
    assert!(view.dead_letter_reason.unwrap().contains("claimed 3 times"));
    // It is open: it keeps its workflow id and takes messages, and nobody claims it.
    assert_eq!(harness.cancel(poison, RequestId::fresh()).await, SendOutcome::Accepted);
    assert!(harness.claim(Incarnation::fresh(), at(400)).await.is_empty());
    let mut other = Harness::start_params("poison");
    "refund".clone_into(&mut other.workflow_type);
    refused(harness.start_with(other).await, ErrorKind::AlreadyExists);
}

/// G8: a worker killed each time counts like a lease lost each time; what it claimed beside the poison and got on
/// with does not.
pub async fn claims_of_killed_workers_count_and_their_neighbours_go_on(harness: &Harness) {
    let poison = harness.start("poison").await.instance;
    let neighbour = harness.start("neighbour").await.instance;
    for round in 1..=3_u32 {
        let worker = Harness::registration(Some("blue"), "b1", at(u64::from(round)));
        let registered = harness.provider().worker_register(worker.clone()).await.unwrap();
        assert_eq!(registered.freed, if round == 1 { 0 } else { 2 });
        let runs = harness.claim(worker.incarnation, at(u64::from(round))).await;
        let counts: Vec<_> = runs.iter().map(|run| (run.instance, run.claims_without_progress)).collect();
        assert_eq!(counts, [(poison, round), (neighbour, 1)]);
        let turn = RunCommit { progress: true, ..Harness::commit_params(&runs[1]) };
        harness.commit(worker.incarnation, turn, at(u64::from(round))).await.unwrap();
        harness.kill(worker.incarnation);
    }
    let last = Harness::registration(Some("blue"), "b1", at(9));
    harness.provider().worker_register(last.clone()).await.unwrap();
    let claim = Harness::claim_params(last.incarnation, at(9));
    let claimed = harness.provider().workflow_claim(claim).await.unwrap();
    assert_eq!(claimed.dead_lettered, [poison]);
    let runs: Vec<_> = claimed.runs.iter().map(|run| (run.instance, run.claims_without_progress)).collect();
    assert_eq!(runs, [(neighbour, 1)]);
}

/// G8: a failure that is reported burns no claim, however often.
pub async fn a_reported_block_burns_no_claim(harness: &Harness) {
    let instance = harness.start("run").await.instance;
    for round in 1..=6_u32 {
        let worker = Incarnation::fresh();
        let now = at(u64::from(round) * 10);
        let run = harness.claim_one(worker, now).await;
        assert_eq!((run.claims_without_progress, run.blocked_attempts), (1, round - 1));
        let block = RunCommit {
            block: BlockChange::Set {
                reason: format!("mismatch {round}"),
                build: durable_core::id::BuildId::new("b1").unwrap(),
            },
            disposition: Disposition::Block { retry_after: Some(std::time::Duration::from_secs(1)) },
            ..Harness::commit_params(&run)
        };
        assert_eq!(harness.commit(worker, block, now).await.unwrap().status, Status::Blocked);
        let blocked = harness.view(instance).await.blocked.unwrap();
        assert_eq!((blocked.reason, blocked.attempts), (format!("mismatch {round}"), round));
        assert_eq!(blocked.retry_at, Some(at(u64::from(round) * 10 + 1)));
        harness.provider().due_sweep(Harness::sweep(at(u64::from(round) * 10 + 1))).await.unwrap();
    }
    let worker = Incarnation::fresh();
    let run = harness.claim_one(worker, at(100)).await;
    let cleared = RunCommit { block: BlockChange::Clear, progress: true, ..Harness::commit_params(&run) };
    harness.commit(worker, cleared, at(100)).await.unwrap();
    assert_eq!(harness.view(instance).await.blocked, None);
}

/// G8: a committed workflow task sets the count back; a commit without one does not.
pub async fn progress_forgives_earlier_claims(harness: &Harness) {
    harness.start("run").await;
    for (second, progress, expected) in [(0, false, 1), (10, true, 2), (20, false, 1), (30, false, 2)] {
        let worker = Incarnation::fresh();
        let run = harness.claim_one(worker, at(second)).await;
        assert_eq!(run.claims_without_progress, expected);
        let commit = RunCommit {
            history: rows(run.next_event, 1),
            progress,
            disposition: Disposition::Yield,
            ..Harness::commit_params(&run)
        };
        harness.commit(worker, commit, at(second)).await.unwrap();
    }
}

/// G8: what may have killed its worker is claimed alone, in its turn; what follows it is not held beside it.
pub async fn a_suspect_is_claimed_alone_and_in_order(harness: &Harness) {
    let start = |id: &'static str, second| {
        let start = durable_core::provider::StartRun { now: Some(at(second)), ..Harness::start_params(id) };
        harness.start_with(start)
    };
    for (id, second) in [("a", 0), ("suspect", 2), ("b", 4)] {
        start(id, second).await.unwrap();
    }
    let claim = async |second| {
        let params =
            WorkflowClaim { isolate_at: 1, ..Harness::claim_params(Incarnation::fresh(), at(second)) };
        let runs = harness.provider().workflow_claim(params).await.unwrap().runs;
        runs.iter().map(|run| run.workflow_id.to_string()).collect::<Vec<_>>()
    };
    // Each dies once with its worker: `a` and `b` are held, and the suspect is eligible before `b` again.
    assert_eq!(claim(3).await, ["a", "suspect"]);
    harness.provider().lease_reap(Harness::sweep(at(50))).await.unwrap();
    start("c", 51).await.unwrap();
    assert_eq!(claim(60).await, ["b"], "a claim goes past a suspect");
    assert_eq!(claim(60).await, ["a"], "a suspect has company");
    assert_eq!(claim(60).await, ["suspect"], "a suspect has company");
    assert_eq!(claim(60).await, ["c"]);
    assert_eq!(claim(60).await, [""; 0]);
}

/// G1, G12: the history that a claim may bring along is all there is of it.
pub async fn a_claim_brings_the_whole_history_or_none(harness: &Harness) {
    let worker = Incarnation::fresh();
    for (id, bytes) in [("small", CLAIM_HISTORY_BYTES), ("large", CLAIM_HISTORY_BYTES + 1)] {
        let mut start = Harness::start_params(id);
        start.history.bytes = vec![b'x'; bytes].into();
        harness.start_with(start).await.unwrap();
        let run = harness.claim_one(worker, at(0)).await;
        let read = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        let stored = harness.provider().history_read(read).await.unwrap().rows;
        if let Some(brought) = &run.history {
            assert_eq!(stored, std::slice::from_ref(brought));
            assert_eq!(id, "small", "a claim of many runs must not grow large");
        }
        let turn = RunCommit {
            history: rows(run.next_event, 2),
            progress: true,
            disposition: Disposition::Yield,
            ..Harness::commit_params(&run)
        };
        harness.commit(worker, turn, at(0)).await.unwrap();
        let run = harness.claim_one(worker, at(0)).await;
        assert_eq!(run.history, None, "its first row is not all of it");
        let wait =
            RunCommit { disposition: Disposition::Wait { wake_at: None }, ..Harness::commit_params(&run) };
        harness.commit(worker, wait, at(0)).await.unwrap();
    }
}
