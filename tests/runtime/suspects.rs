//! What makes a suspect, and what is kept away from one.

use std::sync::Arc;
use std::time::Duration;

use durable::Client;
use durable::limits::{CLAIMS_WITHOUT_PROGRESS_MAX, POLL_INTERVAL};
use durable::prelude::*;
use durable_core::provider::Status;
use durable_core::time::Clock;

use crate::harness::{Calls, Fixture, in_world};

#[workflow]
async fn plain(_ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    Ok(())
}

struct Scene {
    attempts: Calls,
    client: Client,
    clock: Arc<dyn Clock>,
}

/// Takes its first two workers down; the third time it starts a run and watches whether it is claimed.
#[activity(retry(initial = "1ms"))]
async fn suspect(ctx: &ActivityContext) -> Result<bool, String> {
    let scene = ctx.state::<Arc<Scene>>();
    if scene.attempts.add() <= 2 {
        std::future::pending::<()>().await;
    }
    let plain = scene.client.start::<plain>("plain", ()).await.unwrap();
    // The start wakes the poller at once, and it polls on; nothing is done for the run.
    scene.clock.sleep_until(scene.clock.elapsed() + POLL_INTERVAL * 3).await;
    Ok(plain.describe().await.unwrap().status == Status::Runnable)
}

#[workflow]
async fn accused(ctx: &WorkflowContext) -> Result<bool, WorkflowError> {
    Ok(suspect(ctx).await?)
}

#[test]
fn nothing_is_claimed_beside_a_suspect_and_everything_after_it() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let client = fixture.durable.client();
        let (attempts, clock) = (Calls::default(), Arc::clone(&fixture.clock));
        let scene = Arc::new(Scene { attempts, client: client.clone(), clock });
        let start = || {
            let worker = fixture.durable.worker().workflow::<accused>().workflow::<plain>();
            worker.activity::<suspect>().state(Arc::clone(&scene)).lease(Duration::from_millis(400)).start()
        };
        let mut worker = start().await.unwrap();
        let run = client.start::<accused>("a", ()).await.unwrap();
        for attempt in 1..=2 {
            fixture.until("the next attempt", || async { scene.attempts.get() == attempt }).await;
            drop(worker);
            worker = start().await.unwrap();
        }
        assert!(fixture.soon(run.result()).await.unwrap(), "a run was claimed beside a suspect");
        let plain = client.start::<plain>("plain", ()).await.unwrap();
        fixture.soon(plain.result()).await.unwrap();
        worker.shutdown().await;
    });
}

/// Outlasts every worker but the last.
#[activity]
async fn patient(ctx: &ActivityContext) -> Result<u32, String> {
    if ctx.state::<Calls>().add() <= CLAIMS_WITHOUT_PROGRESS_MAX + 2 {
        std::future::pending::<()>().await;
    }
    Ok(ctx.attempt())
}

#[workflow]
async fn waits(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(patient(ctx).await?)
}

#[test]
fn workers_that_end_in_order_make_no_run_a_suspect() {
    in_world(async |world| {
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let start = || {
            let worker = fixture.durable.worker().workflow::<waits>().activity::<patient>();
            worker.state(calls.clone()).grace(Duration::ZERO).start()
        };
        let run = fixture.durable.client().start::<waits>("w", ()).await.unwrap();
        for times in 1..=CLAIMS_WITHOUT_PROGRESS_MAX + 2 {
            let worker = start().await.unwrap();
            fixture.until("the next attempt", || async { calls.get() == times }).await;
            worker.shutdown().await;
        }
        let worker = start().await.unwrap();
        assert_eq!(
            fixture.soon(run.result()).await.unwrap(),
            1,
            "an attempt that was ended in order counted"
        );
        worker.shutdown().await;
    });
}
