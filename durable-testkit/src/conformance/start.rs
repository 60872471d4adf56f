//! Starts: one workflow id, one open instance (G10, G15).

use bytes::Bytes;
use durable_core::id::{EventId, Incarnation, InstanceId, QueueName};
use durable_core::provider::{
    ActivityChange, Disposition, ErrorKind, IdPolicy, OpenInstances, ProviderError, RunCommit, StartOutcome,
    StartRun, Status,
};

use super::harness::{Harness, at, refused, rows};

fn instance_of(outcome: &StartOutcome) -> InstanceId {
    match outcome {
        StartOutcome::Started(found) | StartOutcome::Existing(found) => found.instance,
    }
}

/// G10: one wins, the others are told which instance it is.
pub async fn starts_that_race_make_one_instance(harness: &Harness) {
    let starters: Vec<_> = (0..8)
        .map(|_| {
            let harness = harness.clone();
            tokio::spawn(async move { harness.start_with(Harness::start_params("order-1")).await.unwrap() })
        })
        .collect();
    let (mut started, mut instances) = (0, Vec::new());
    for starter in starters {
        let outcome = starter.await.unwrap();
        started += usize::from(matches!(outcome, StartOutcome::Started(_)));
        instances.push(instance_of(&outcome));
    }
    instances.dedup();
    assert_eq!((started, instances.len()), (1, 1));
    assert_eq!(harness.claim(Incarnation::fresh(), at(0)).await.len(), 1);
}

/// Another workflow under the same id is refused, and the message names both.
pub async fn another_type_is_refused_with_both_names(harness: &Harness) {
    harness.start("order-1").await;
    let mut other = Harness::start_params("order-1");
    "refund".clone_into(&mut other.workflow_type);
    let error = refused(harness.start_with(other).await, ErrorKind::AlreadyExists);
    let expected = "workflow id \"order-1\" already names a `checkout`, this start asks for a `refund`";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// The same workflow with other arguments is other work, open or closed.
pub async fn other_arguments_are_refused(harness: &Harness) {
    close(harness, "order-1", Status::Completed).await;
    harness.start("order-2").await;
    for id in ["order-1", "order-2"] {
        let mut other = Harness::start_params(id);
        other.input_digest = [8; 32];
        let error = refused(harness.start_with(other).await, ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("other arguments"), "{error}");
    }
}

async fn close(harness: &Harness, id: &str, status: Status) {
    let worker = Incarnation::fresh();
    let run = harness.owned(id, worker).await;
    let close = RunCommit {
        disposition: Disposition::Close { status, outcome: Bytes::new() },
        ..Harness::commit_params(&run)
    };
    harness.commit(worker, close, at(0)).await.unwrap();
}

/// The table of policies against what is there.
pub async fn each_policy_decides_as_documented(harness: &Harness) {
    use IdPolicy::{AllowAfterClose, AllowAfterFailure, Reject, UseExisting};
    let mut number = 0;
    for (policy, on_open, on_completed, on_failed) in [
        (UseExisting, "existing", "existing", "existing"),
        (AllowAfterClose, "existing", "new", "new"),
        (AllowAfterFailure, "existing", "existing", "new"),
        (Reject, "refused", "refused", "refused"),
    ] {
        for (closed_as, expected) in
            [(None, on_open), (Some(Status::Completed), on_completed), (Some(Status::TimedOut), on_failed)]
        {
            number += 1;
            let id = format!("order-{number}");
            if let Some(status) = closed_as {
                close(harness, &id, status).await;
            } else {
                harness.start(&id).await;
                harness.claim_one(Incarnation::fresh(), at(0)).await;
            }
            let mut start = Harness::start_params(&id);
            start.policy = policy;
            let outcome = match harness.start_with(start).await {
                Ok(StartOutcome::Started(_)) => "new",
                Ok(StartOutcome::Existing(_)) => "existing",
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                    "refused"
                }
            };
            assert_eq!(outcome, expected, "{policy:?} on {closed_as:?}");
            harness.claim(Incarnation::fresh(), at(0)).await;
        }
    }
}

/// A start whose answer was lost is asked for again: it finds what it made, whatever the policy, even closed.
pub async fn a_repeated_request_finds_what_it_started(harness: &Harness) {
    let mut start = Harness::start_params("order-1");
    start.policy = IdPolicy::Reject;
    let first = harness.start_with(start.clone()).await.unwrap();
    assert_eq!(harness.start_with(start.clone()).await.unwrap(), first);
    let worker = Incarnation::fresh();
    let run = harness.claim_one(worker, at(0)).await;
    let disposition = Disposition::Close { status: Status::Failed, outcome: Bytes::new() };
    harness.commit(worker, RunCommit { disposition, ..Harness::commit_params(&run) }, at(0)).await.unwrap();
    start.policy = IdPolicy::AllowAfterClose;
    assert_eq!(harness.start_with(start).await.unwrap(), first);
    assert!(harness.claim(worker, at(0)).await.is_empty());
}

/// G2: each start has its own answer.
pub async fn a_refused_start_hurts_no_other(harness: &Harness) {
    harness.start("taken").await;
    let mut other_type = Harness::start_params("taken");
    "refund".clone_into(&mut other_type.workflow_type);
    let mut bad_priority = Harness::start_params("priority");
    bad_priority.priority = 10;
    let mut bad_history = Harness::start_params("history");
    bad_history.history = rows(EventId(2), 1).remove(0);
    let twin = Harness::start_params("twin");
    let starts = vec![
        Harness::start_params("a"),
        other_type,
        bad_priority,
        bad_history,
        twin.clone(),
        twin,
        Harness::start_params("b"),
    ];
    let answers = harness.provider().workflow_start(starts).await.unwrap();
    let kinds: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(ProviderError::kind)).collect();
    let (exists, invalid) = (Some(ErrorKind::AlreadyExists), Some(ErrorKind::Invalid));
    assert_eq!(kinds, [None, exists, invalid, invalid, None, None, None]);
    assert_eq!(harness.claim(Incarnation::fresh(), at(0)).await.len(), 4);
}

/// G2, G10: a run id that is taken is a constraint: it fails the whole batch, wherever it stands, and the caller
/// tries its halves.
pub async fn a_run_id_that_is_taken_fails_the_batch_whole(harness: &Harness) {
    let taken = harness.start("taken").await;
    let stored = harness.stored(&[taken.instance]).await;
    for place in 0..3 {
        let mut starts: Vec<_> = ["a", "b", "c"].map(Harness::start_params).to_vec();
        starts[place].run_id = taken.run_id;
        refused(harness.provider().workflow_start(starts).await, ErrorKind::Conflict);
        assert_eq!(harness.stored(&[taken.instance]).await, stored, "{place}");
    }
    harness.start("a").await;
}

/// G15: any name of 1 to 255 bytes without NUL is accepted and comes back.
pub async fn any_legal_name_is_accepted(harness: &Harness) {
    let long = "x".repeat(255);
    for name in ["a", "a/b", "a b", "%", "_", "'", "\"", "'; --", "🦀", "\u{202e}", " ", &long] {
        let queue = QueueName::new(name).unwrap();
        let mut start = Harness::start_params(name);
        start.queue = queue.clone();
        name.clone_into(&mut start.workflow_type);
        let instance = instance_of(&harness.start_with(start).await.unwrap());
        let view = harness.view(instance).await;
        assert_eq!((view.workflow_id.as_str(), view.workflow_type.as_str()), (name, name));
        let found = harness.provider().instance_find(&view.workflow_id).await.unwrap().unwrap();
        assert_eq!(found.instance, instance);
        let mut claim = Harness::claim_params(Incarnation::fresh(), at(0));
        claim.queue = queue;
        let claimed = harness.provider().workflow_claim(claim).await.unwrap();
        assert_eq!(claimed.runs.len(), 1, "{name:?}");
        assert_eq!(claimed.runs[0].queue.as_str(), name);
    }
}

/// G15: a type that is no name is refused alike everywhere, in a start and in an activity row, and hurts no other.
pub async fn a_type_that_is_no_name_is_refused_alone(harness: &Harness) {
    let bad_types = ["", "a\0b", &"x".repeat(256)];
    let mut starts = vec![Harness::start_params("good")];
    for (number, name) in bad_types.into_iter().enumerate() {
        let mut start = Harness::start_params(&format!("bad-{number}"));
        name.clone_into(&mut start.workflow_type);
        starts.push(start);
    }
    let mut answers = harness.provider().workflow_start(starts).await.unwrap();
    assert!(answers.remove(0).is_ok());
    for answer in answers {
        let error = refused(answer, ErrorKind::Invalid);
        assert!(error.to_string().starts_with("workflow type "), "{error}");
    }
    let worker = Incarnation::fresh();
    let run = harness.claim_one(worker, at(0)).await;
    for name in bad_types {
        let mut row = Harness::row(1);
        name.clone_into(&mut row.activity_type);
        let commit =
            RunCommit { activities: vec![ActivityChange::Insert(row)], ..Harness::commit_params(&run) };
        let error = refused(harness.commit(worker, commit, at(0)).await, ErrorKind::Invalid);
        assert!(error.to_string().starts_with("activity type "), "{error}");
    }
}

/// G12: every open instance is listed once, in the order of the bytes of its workflow id, in pages of any size; a closed
/// one is not, whatever else has its workflow id.
pub async fn open_instances_are_listed_in_order_page_by_page(harness: &Harness) {
    let names = ["b", "a", "B", "a/b", "\u{e9}", "\u{1f980}", "a b", "%"];
    let worker = Incarnation::fresh();
    for name in names.iter().chain(&["gone", "again"]) {
        harness.start(name).await;
    }
    for run in harness.claim(worker, at(0)).await {
        let closes = ["gone", "again"].contains(&run.workflow_id.as_str());
        let disposition = if closes {
            Disposition::Close { status: Status::Completed, outcome: Bytes::from_static(b"done") }
        } else {
            Disposition::Wait { wake_at: None }
        };
        let commit = RunCommit { disposition, ..Harness::commit_params(&run) };
        harness.commit(worker, commit, at(0)).await.unwrap();
    }
    let again = StartRun { policy: IdPolicy::AllowAfterClose, ..Harness::start_params("again") };
    let reopened = instance_of(&harness.start_with(again).await.unwrap());
    let mut expected = [names.as_slice(), &["again"]].concat();
    expected.sort_unstable();
    for limit in [1, 2, 3, 100] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = OpenInstances { after: after.clone(), limit };
            let page = harness.provider().instances_open(page).await.unwrap();
            assert!(page.len() <= limit as usize);
            let Some(last) = page.last() else { break };
            after = Some(last.workflow_id.clone());
            found.extend(page);
        }
        let ids: Vec<_> = found.iter().map(|view| view.workflow_id.as_str()).collect();
        assert_eq!(ids, expected, "in pages of {limit}");
        for view in found {
            let whole = harness.view(view.instance).await;
            assert_eq!(format!("{view:?}"), format!("{whole:?}"));
            assert_eq!(view.workflow_id.as_str() == "again", view.instance == reopened);
        }
    }
}
