//! Workers that die, block or end; workflow code that does not fit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable::prelude::*;
use durable_core::provider::Status;

use crate::harness::{Calls, Fixture, in_world};

#[activity(retry(initial = "10ms"))]
async fn first(ctx: &ActivityContext) -> Result<u32, String> {
    Ok(ctx.state::<Calls>().add())
}

#[activity(retry(initial = "10ms"))]
async fn slow(ctx: &ActivityContext) -> Result<u32, String> {
    if ctx.state::<Slow>().0.add() == 1 {
        ctx.cancelled().await;
        std::future::pending::<()>().await;
    }
    Ok(ctx.attempt())
}

#[derive(Debug, Default, Clone)]
struct Slow(Calls);

#[workflow]
async fn two_steps(ctx: &WorkflowContext) -> Result<(u32, u32), WorkflowError> {
    Ok((first(ctx).await?, slow(ctx).await?))
}

fn worker(fixture: &Fixture, calls: &Calls, slow_calls: &Slow) -> durable_core::runtime::WorkerBuilder {
    let worker = fixture.durable.worker().workflow::<two_steps>().activity::<first>().activity::<slow>();
    worker.state(calls.clone()).state(slow_calls.clone()).lease(Duration::from_millis(400))
}

#[test]
fn after_a_crash_recorded_steps_stay_and_the_lost_attempt_counts() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let (calls, slow_calls) = (Calls::default(), Slow::default());
        let dies = worker(&fixture, &calls, &slow_calls).start().await.unwrap();
        let run = fixture.durable.client().start::<two_steps>("c", ()).await.unwrap();
        fixture.until("the slow step", || async { slow_calls.0.get() == 1 }).await;
        drop(dies);
        let heir = worker(&fixture, &calls, &slow_calls).start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), (1, 2));
        assert_eq!((calls.get(), slow_calls.0.get()), (1, 2));
        heir.shutdown().await;
    });
}

#[test]
fn a_shutdown_releases_cleanly_and_its_attempt_does_not_count() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let (calls, slow_calls) = (Calls::default(), Slow::default());
        let ends =
            worker(&fixture, &calls, &slow_calls).grace(Duration::from_millis(50)).start().await.unwrap();
        let run = fixture.durable.client().start::<two_steps>("c", ()).await.unwrap();
        fixture.until("the slow step", || async { slow_calls.0.get() == 1 }).await;
        fixture.soon(ends.shutdown()).await;
        assert_eq!(run.describe().await.unwrap().status, Status::Runnable);
        let heir = worker(&fixture, &calls, &slow_calls).start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), (1, 1));
        heir.shutdown().await;
    });
}

static BROKEN: AtomicBool = AtomicBool::new(true);

#[workflow]
async fn panics(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let count = first(ctx).await?;
    assert!(!BROKEN.load(Ordering::SeqCst), "broken on purpose");
    Ok(count)
}

#[test]
fn a_panic_blocks_the_run_until_another_build() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let build = |name: &str| {
            fixture
                .durable
                .worker()
                .workflow::<panics>()
                .activity::<first>()
                .state(calls.clone())
                .build_id(name)
        };
        let one = build("one").start().await.unwrap();
        let run = fixture.durable.client().start::<panics>("p", ()).await.unwrap();
        fixture.until("blocked", || async { run.describe().await.unwrap().status == Status::Blocked }).await;
        let reason = run.describe().await.unwrap().blocked.unwrap().reason;
        assert!(reason.contains("broken on purpose"), "{reason}");
        one.shutdown().await;
        BROKEN.store(false, Ordering::SeqCst);
        let two = build("two").start().await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 1);
        assert!(run.describe().await.unwrap().blocked.is_none(), "the reason stayed");
        two.shutdown().await;
    });
}

static UNFIT: AtomicBool = AtomicBool::new(false);

#[workflow]
async fn unfit(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    assert!(!UNFIT.load(Ordering::SeqCst), "unfit on purpose");
    Ok(slow(ctx).await?)
}

#[test]
fn a_lost_attempt_counts_even_if_the_code_does_not_fit_after_the_crash() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let slow_calls = Slow::default();
        let build = |name: &str| {
            let worker = fixture.durable.worker().workflow::<unfit>().activity::<slow>().build_id(name);
            worker.state(slow_calls.clone()).lease(Duration::from_millis(300)).start()
        };
        let dies = build("one").await.unwrap();
        let run = fixture.durable.client().start::<unfit>("u", ()).await.unwrap();
        fixture.until("the slow step", || async { slow_calls.0.get() == 1 }).await;
        drop(dies);
        UNFIT.store(true, Ordering::SeqCst);
        let two = build("two").await.unwrap();
        fixture.until("blocked", || async { run.describe().await.unwrap().status == Status::Blocked }).await;
        two.shutdown().await;
        UNFIT.store(false, Ordering::SeqCst);
        let three = build("three").await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 2);
        three.shutdown().await;
    });
}
