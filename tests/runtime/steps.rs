//! What works while nothing dies.

use std::time::Duration;

use durable::history::EventKind;
use durable::prelude::*;
use durable_core::client::RunError;
use durable_core::provider::{SendOutcome, Status};
use durable_core::runtime::StartError;
use durable_core::workflow::{LiveRun, RunIdentity, entry_of};

use crate::harness::{Calls, Fixture, in_world};

#[activity]
async fn add(ctx: &ActivityContext, one: u32, two: u32) -> Result<u32, String> {
    ctx.state::<Calls>().add();
    assert_eq!(ctx.idempotency_key().len(), 32);
    Ok(one + two)
}

#[workflow]
async fn sum(ctx: &WorkflowContext, upto: u32) -> Result<u32, WorkflowError> {
    let mut total = 0;
    for n in 1..=upto {
        total = add(ctx, total, n).await?;
    }
    let (one, two) = durable::join!(add(ctx, total, 1), add(ctx, total, 2));
    ctx.sleep(Duration::from_millis(30)).await?;
    Ok(one? + two?)
}

#[test]
fn steps_joins_and_timers_run_to_a_result() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let worker = fixture.durable.worker().workflow::<sum>().activity::<add>().state(calls.clone());
        let worker = worker.start().await.unwrap();
        let client = fixture.durable.client();
        let mut runs = Vec::new();
        for n in 0..20 {
            runs.push(client.start::<sum>(format!("sum-{n}"), 10).await.unwrap());
        }
        for run in &runs {
            assert_eq!(fixture.soon(run.result()).await.unwrap(), 113);
        }
        assert_eq!(calls.get(), 20 * 12);
        for run in &runs {
            let events = fixture.history(run.run_id()).await;
            let end = events.last().unwrap().kind.clone();
            let identity = RunIdentity { workflow_id: run.workflow_id().clone(), run_id: run.run_id() };
            let replayed = LiveRun::load(
                Some(&entry_of::<sum>()),
                identity,
                events,
                durable::limits::HistoryLimits::default(),
            )
            .unwrap();
            assert!(replayed.is_closed(), "what was recorded does not replay to its end");
            assert!(
                matches!(end, EventKind::WorkflowExecutionCompleted { result, .. } if &result.bytes[..] == b"113")
            );
        }
        // The same work again is the same instance.
        let again = client.start::<sum>("sum-0", 10).await.unwrap();
        assert_eq!((again.run_id(), again.result().await.unwrap()), (runs[0].run_id(), 113));
        assert!(client.start::<sum>("sum-0", 11).await.is_err());
        fixture.soon(worker.shutdown()).await;
        fixture.soon(worker.shutdown()).await;
    });
}

#[activity(retry(max_attempts = 3, initial = "10ms"))]
async fn flaky(ctx: &ActivityContext, until: u32) -> Result<u32, String> {
    let call = ctx.state::<Calls>().add();
    assert_eq!(ctx.attempt(), call);
    assert!(call != 2, "the second attempt panics");
    if call < until { Err(format!("attempt {call} fails")) } else { Ok(call) }
}

#[workflow]
async fn tries(ctx: &WorkflowContext, until: u32) -> Result<u32, String> {
    flaky(ctx, until).await.map_err(|error| error.to_string())
}

#[test]
fn failed_attempts_are_made_again_until_the_policy_ends() {
    in_world(async |world| {
        for (until, want) in [(3, Ok(3)), (9, Err("activity `flaky` failed: attempt 3 fails"))] {
            let fixture = Fixture::new(&world).await;
            let calls = Calls::default();
            let worker =
                fixture.durable.worker().workflow::<tries>().activity::<flaky>().state(calls.clone());
            let worker = worker.start().await.unwrap();
            let run = fixture.durable.client().start::<tries>("t", until).await.unwrap();
            let result = fixture.soon(run.result()).await;
            match (&result, want) {
                (Ok(got), Ok(want)) => assert_eq!(*got, want),
                (Err(RunError::Failed { error, .. }), Err(want)) => assert_eq!(error, want),
                other => panic!("{other:?}"),
            }
            assert_eq!(calls.get(), 3);
            worker.shutdown().await;
        }
    });
}

#[activity(start_to_close = "30ms", retry(max_attempts = 1))]
async fn hangs(_ctx: &ActivityContext) -> Result<(), String> {
    std::future::pending().await
}

#[workflow]
async fn waits(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let error = hangs(ctx).await.unwrap_err();
    assert!(matches!(error.kind, ActivityErrorKind::TimedOut(_)), "{error}");
    ctx.sleep(Duration::from_hours(1)).await?;
    Ok(())
}

#[test]
fn a_waiting_run_is_released_and_a_cancel_request_wakes_it() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let worker = fixture.durable.worker().workflow::<waits>().activity::<hangs>().start().await.unwrap();
        let run = fixture.durable.client().start::<waits>("w", ()).await.unwrap();
        let waiting = || async { run.describe().await.unwrap().status == Status::Waiting };
        fixture.until("waiting for the timer", waiting).await;
        assert_eq!(run.cancel("enough").await.unwrap(), SendOutcome::Accepted);
        let error = fixture.soon(run.result()).await.unwrap_err();
        let RunError::Canceled { error: Some(own), .. } = &error else { panic!("{error:?}") };
        assert_eq!(own.to_string(), "the workflow was asked to cancel");
        assert_eq!(run.cancel("again").await.unwrap(), SendOutcome::Closed);
        worker.shutdown().await;
    });
}

#[test]
fn a_name_registered_twice_is_refused() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let error = fixture.durable.worker().activity::<add>().activity::<add>().start().await.unwrap_err();
        assert!(matches!(error, StartError::Duplicate(_)), "{error}");
    });
}
