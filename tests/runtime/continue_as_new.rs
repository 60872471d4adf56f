//! Continue-as-new through worker, client and database.

use std::time::Duration;

use durable::history::{EventKind, StartOptions};
use durable::id::{EventId, Incarnation, QueueName, RunId};
use durable::limits::HISTORY_PAGE_BYTES;
use durable::prelude::*;
use durable_core::client::RunError;
use durable_core::provider::{
    ActivityChange, ActivityClaim, ActivityOutcome, BlockChange, CommitBatch, Disposition, HistoryRead,
    NewActivityRow, RunCommit, WorkflowClaim,
};

use crate::harness::{Calls, Fixture, in_world};

#[activity(retry(initial = "10ms"))]
async fn add(ctx: &ActivityContext, one: u64, two: u64) -> Result<u64, String> {
    ctx.state::<Calls>().add();
    Ok(one + two)
}

/// Adds up 1 to `until`, eight at a time, and goes on in a new run when it is told to.
#[workflow]
async fn sum_up(ctx: &WorkflowContext, from: u64, until: u64, total: u64) -> Result<u64, WorkflowError> {
    let (mut next, mut total) = (from, total);
    while next < until {
        for part in durable::join_all((next + 1..=next + 8).map(|n| add(ctx, n, 0))).await {
            total += part?;
        }
        next += 8;
        if ctx.continue_as_new_suggested() {
            return ctx.continue_as_new::<sum_up>((next, until, total)).await;
        }
    }
    Ok(total)
}

#[workflow]
async fn relay(ctx: &WorkflowContext, n: u64, until: u64) -> Result<u64, WorkflowError> {
    let n = add(ctx, n, 1).await?;
    if n < until {
        return ctx.continue_as_new::<relay>((n, until)).await;
    }
    Ok(n)
}

/// The runs of an instance, first to last, with the number of their events.
async fn runs(fixture: &Fixture, first: RunId) -> Vec<(RunId, usize)> {
    let (mut run, mut all) = (first, Vec::new());
    loop {
        let events = fixture.history(run).await;
        all.push((run, events.len()));
        let Some(EventKind::WorkflowExecutionContinuedAsNew { new_run_id, .. }) =
            events.last().map(|event| &event.kind)
        else {
            return all;
        };
        run = *new_run_id;
    }
}

#[test]
fn a_result_comes_from_the_last_run_and_the_handle_stays_the_same() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let slow = QueueName::new("slow").unwrap();
        let worker = fixture.durable.worker().workflow::<relay>().activity::<add>().state(calls.clone());
        let worker = worker.queue("slow").start().await.unwrap();
        let client = fixture.durable.client();
        let start = client.start::<relay>("relay", (0, 5)).queue("slow").priority(3);
        let run = start.await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 5);
        assert_eq!(calls.get(), 5, "each step once");
        let view = run.describe().await.unwrap();
        let chain = runs(&fixture, run.run_id()).await;
        assert_eq!((chain.len(), view.run_number), (5, 5));
        assert_eq!(chain.last().unwrap().0, view.run_id);
        let options = StartOptions { queue: slow, priority: 3 };
        for (number, (run, _)) in chain.iter().enumerate() {
            let events = fixture.history(*run).await;
            let EventKind::WorkflowExecutionStarted { workflow_type, run_number, options: kept, .. } =
                &events[0].kind
            else {
                panic!("{:?}", events[0])
            };
            assert_eq!((workflow_type.as_str(), *run_number as usize, kept), ("relay", number + 1, &options));
        }
        let again = client.start::<relay>("relay", (0, 5)).await.unwrap();
        assert_eq!(fixture.soon(again.result()).await.unwrap(), 5, "the same start is the same instance");
        worker.shutdown().await;
    });
}

#[test]
fn twelve_thousand_steps_go_on_in_new_runs_and_are_read_back_in_pages_after_a_crash() {
    const STEPS: u64 = 12_000;
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let worker = || {
            let worker = fixture.durable.worker().workflow::<sum_up>().activity::<add>();
            worker.state(calls.clone()).lease(Duration::from_secs(5))
        };
        let mut living = worker().start().await.unwrap();
        let run = fixture.durable.client().start::<sum_up>("long", (0, STEPS, 0)).await.unwrap();
        // In the middle of the first run and of the second: who comes next has to read what is there.
        for steps in [3_203, 6_405] {
            fixture.until("the steps before a crash", || async { calls.get() >= steps }).await;
            drop(living);
            living = worker().start().await.unwrap();
        }
        let result = tokio::select! {
            result = run.result() => result,
            () = fixture.pause(Duration::from_hours(24)) => panic!("it takes too long"),
        };
        assert_eq!(result.unwrap(), STEPS * (STEPS + 1) / 2);
        let chain = runs(&fixture, run.run_id()).await;
        println!("{STEPS} steps, {} executed, in runs of {chain:?} events", calls.get());
        assert!(chain.len() >= 3, "{chain:?}");
        assert!(chain.iter().all(|(_, events)| *events < 20_000), "{chain:?}");
        assert!(chain[..chain.len() - 1].iter().all(|(_, events)| *events >= 10_000), "{chain:?}");
        let read = |from| HistoryRead { run_id: chain[0].0, from, max_bytes: HISTORY_PAGE_BYTES };
        let (mut from, mut pages, mut bytes) = (Some(EventId::FIRST), 0, 0);
        while let Some(first) = from {
            let page = fixture.durable.provider().history_read(read(first)).await.unwrap();
            bytes += page.rows.iter().map(|row| row.bytes.len()).sum::<usize>();
            pages += 1;
            from = page.next;
        }
        assert!(pages >= 2 && bytes > HISTORY_PAGE_BYTES, "{pages} pages of {bytes} bytes");
        living.shutdown().await;
    });
}

#[test]
fn a_request_to_cancel_reaches_whichever_run_is_open() {
    #[workflow]
    async fn restless(ctx: &WorkflowContext, n: u64) -> Result<u64, WorkflowError> {
        ctx.sleep(Duration::from_millis(200)).await?;
        ctx.continue_as_new::<restless>(n + 1).await
    }
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let worker = fixture.durable.worker().workflow::<restless>().start().await.unwrap();
        let run = fixture.durable.client().start::<restless>("restless", 0).await.unwrap();
        fixture.until("some runs", || async { run.describe().await.unwrap().run_number >= 4 }).await;
        run.cancel("enough").await.unwrap();
        let error = fixture.soon(run.result()).await.unwrap_err();
        assert!(matches!(error, RunError::Canceled { .. }), "{error:?}");
        worker.shutdown().await;
    });
}

/// What an earlier run's activity answered after that run had gone on is nobody's, though a later one has a command of
/// the same id.
#[test]
fn an_outcome_for_another_run_is_read_and_ignored() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let run = fixture.durable.client().start::<relay>("relay", (6, 7)).await.unwrap();
        let provider = fixture.durable.provider();
        let (incarnation, queue) = (Incarnation::fresh(), QueueName::default_queue());
        let lease = Duration::from_secs(5);
        let claim = WorkflowClaim {
            incarnation,
            queue: queue.clone(),
            limit: 1,
            lease,
            max_claims: 10,
            isolate_at: u32::MAX,
            now: Some(world.clock().now()),
        };
        let claimed = provider.workflow_claim(claim).await.unwrap().runs.remove(0);
        let row = NewActivityRow {
            command: durable::id::CommandId(1),
            activity_type: "add".to_owned(),
            queue: queue.clone(),
            priority: 5,
            task: "{}".into(),
            attempts: 0,
            lost: 0,
            delay: Duration::ZERO,
            deadline: None,
            last_failure: None,
        };
        let commit = RunCommit {
            instance: claimed.instance,
            run_id: claimed.run_id,
            epoch: claimed.epoch,
            expected_next: claimed.next_event,
            flush: durable::id::FlushId::fresh(),
            history: Vec::new(),
            consumed_through: durable::id::InboxSeq(0),
            activities: vec![ActivityChange::Insert(row)],
            progress: true,
            block: BlockChange::Keep,
            disposition: Disposition::Yield,
        };
        let batch = CommitBatch { incarnation, commits: vec![commit], lease, now: Some(world.clock().now()) };
        provider.workflow_commit(batch).await.unwrap().remove(0).unwrap();
        let rows = ActivityClaim {
            incarnation,
            queue,
            types: vec!["add".to_owned()],
            limit: 1,
            lease,
            isolate_at: u32::MAX,
            now: Some(world.clock().now()),
        };
        let row = provider.activity_claim(rows).await.unwrap().remove(0);
        let event = EventKind::ActivityTaskCompleted {
            id: durable::id::CommandId(1),
            attempt: 1,
            result: durable_core::payload::encode("a result", &99_u64).unwrap(),
        };
        let message = serde_json::json!({ "run": RunId::fresh(), "event": event });
        let outcome = ActivityOutcome {
            row: row.row,
            epoch: row.epoch,
            incarnation,
            message: serde_json::to_vec(&message).unwrap().into(),
            now: Some(world.clock().now()),
        };
        provider.activity_settle(vec![outcome]).await.unwrap().remove(0).unwrap();
        let worker = fixture.durable.worker().workflow::<relay>().activity::<add>().state(calls.clone());
        let worker = worker.start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 7, "not the 99 of another run");
        assert_eq!(calls.get(), 1, "the activity of this run ran");
        worker.shutdown().await;
    });
}
