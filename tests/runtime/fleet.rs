//! Several workers, and more work than slots.

use std::time::Duration;

use durable::prelude::*;
use durable_core::history::EventKind;
use durable_core::provider::{ErrorKind, Status};
use durable_testkit::Fate;

use crate::harness::{Calls, Fixture, in_world};

#[activity]
async fn here(ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    ctx.state::<Calls>().add();
    Ok(n)
}

#[activity]
async fn there(ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    ctx.state::<Calls>().add();
    Ok(n * 2)
}

#[workflow]
async fn spread(ctx: &WorkflowContext, width: u32) -> Result<u32, WorkflowError> {
    let sums = durable::join_all((0..width).map(|n| here(ctx, n))).await;
    let mut total = 0;
    for sum in sums {
        total += sum?;
    }
    Ok(total + there(ctx, 1).await?)
}

#[test]
fn a_wide_run_waits_for_slots_and_another_worker_runs_what_is_unknown_here() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let (one_calls, two_calls) = (Calls::default(), Calls::default());
        let one = fixture.durable.worker().workflow::<spread>().activity::<here>().state(one_calls.clone());
        let one = one.max_activities(7).start().await.unwrap();
        let run = fixture.durable.client().start::<spread>("s", 300).await.unwrap();
        let waiting = || async { run.describe().await.unwrap().status == Status::Waiting };
        fixture.until("waiting for another worker", waiting).await;
        let two =
            fixture.durable.worker().activity::<there>().state(two_calls.clone()).start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 300 * 299 / 2 + 2);
        assert_eq!((one_calls.get(), two_calls.get()), (300, 1));
        // No command without its turn, no result twice.
        let events = fixture.history(run.run_id()).await;
        let done =
            events.iter().filter(|event| matches!(event.kind, EventKind::ActivityTaskCompleted { .. }));
        assert_eq!(done.count(), 301);
        tokio::join!(one.shutdown(), two.shutdown());
    });
}

#[workflow]
async fn naps(ctx: &WorkflowContext, times: u32) -> Result<u32, WorkflowError> {
    for _ in 0..times {
        ctx.sleep(Duration::from_millis(3)).await?;
        here(ctx, 1).await?;
    }
    Ok(times)
}

#[test]
fn workers_that_crash_again_and_again_lose_nothing() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let build = || {
            let worker = fixture.durable.worker().workflow::<naps>().activity::<here>().state(calls.clone());
            worker.lease(Duration::from_millis(150)).cached_runs(4).workflow_threads(2)
        };
        let client = fixture.durable.client();
        let mut runs = Vec::new();
        for n in 0..12 {
            runs.push(client.start::<naps>(format!("n-{n}"), 8).await.unwrap());
        }
        let keeps = build().start().await.unwrap();
        for _ in 0..6 {
            let dies = build().start().await.unwrap();
            fixture.pause(Duration::from_millis(40)).await;
            drop(dies);
        }
        for run in &runs {
            assert_eq!(fixture.soon(run.result()).await.unwrap(), 8);
        }
        assert!(calls.get() >= 12 * 8);
        keeps.shutdown().await;
    });
}

#[test]
fn a_database_that_fails_now_and_then_costs_no_step() {
    in_world(async |world| {
        // Every seventh call fails before it is carried out, every eleventh loses its answer. Kinds take turns.
        let kinds = [ErrorKind::Busy, ErrorKind::Unavailable, ErrorKind::Conflict, ErrorKind::StorageFull];
        let mut kinds = kinds.into_iter().cycle();
        world.direct(move |call| match call.number {
            n if n.is_multiple_of(7) => Fate::Error(kinds.next().unwrap()),
            n if n.is_multiple_of(11) => Fate::LoseAnswer,
            _ => Fate::Answer,
        });
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let build = || {
            let worker = fixture.durable.worker().workflow::<naps>().activity::<here>().state(calls.clone());
            // A claim whose answer was lost comes back when its lease has run out.
            worker.lease(Duration::from_millis(500))
        };
        let mut worker = build().slot("w-0").start().await;
        for n in 1..9 {
            if worker.is_err() {
                worker = build().slot(format!("w-{n}")).start().await;
            }
        }
        let worker = worker.unwrap();
        let client = fixture.durable.client();
        let mut runs = Vec::new();
        for n in 0..10 {
            runs.push(client.start::<naps>(format!("f-{n}"), 5).await.unwrap());
        }
        for run in &runs {
            assert_eq!(fixture.soon(run.result()).await.unwrap(), 5);
        }
        assert!((50..60).contains(&calls.get()), "{} calls for 50 steps", calls.get());
        fixture.soon(worker.shutdown()).await;
    });
}
