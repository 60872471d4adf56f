//! What needs the real threads and the real clock: turns that do not end, and true concurrency.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable::prelude::*;
use durable_core::provider::Status;

use crate::harness::{Calls, Fixture};

#[activity(retry(initial = "1ms"))]
async fn first(ctx: &ActivityContext) -> Result<u32, String> {
    Ok(ctx.state::<Calls>().add())
}

static STUCK: AtomicBool = AtomicBool::new(true);

#[workflow]
async fn spins(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    while STUCK.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    Ok(first(ctx).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_does_not_end_blocks_only_its_run() {
    let fixture = Fixture::threads().await;
    let calls = Calls::default();
    let build = |name: &str| {
        let worker = fixture.durable.worker().workflow::<spins>().activity::<first>();
        worker.state(calls.clone()).build_id(name).workflow_threads(1).turn_limit(Duration::from_millis(100))
    };
    let one = build("one").start().await.unwrap();
    let client = fixture.durable.client();
    let run = client.start::<spins>("s", ()).await.unwrap();
    fixture.until("blocked", || async { run.describe().await.unwrap().status == Status::Blocked }).await;
    let blocked = run.describe().await.unwrap().blocked.unwrap();
    assert!(blocked.reason.contains("deadlock") && blocked.retry_at.is_none(), "{blocked:?}");
    STUCK.store(false, Ordering::SeqCst);
    one.shutdown().await;
    let two = build("two").start().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    two.shutdown().await;
}

#[workflow]
async fn steps(ctx: &WorkflowContext, count: u32) -> Result<u32, WorkflowError> {
    let mut last = 0;
    for _ in 0..count {
        let (one, two) = durable::join!(first(ctx), first(ctx));
        last = one?.max(two?);
        ctx.sleep(Duration::from_millis(1)).await?;
    }
    Ok(last)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_on_real_threads_of_two_workers_lose_and_double_nothing() {
    let fixture = Fixture::threads().await;
    let calls = Calls::default();
    let build = || {
        let worker = fixture.durable.worker().workflow::<steps>().activity::<first>().state(calls.clone());
        worker.workflow_threads(2).cached_runs(8).start()
    };
    let (one, two) = (build().await.unwrap(), build().await.unwrap());
    let client = fixture.durable.client();
    let mut runs = Vec::new();
    for n in 0..40 {
        runs.push(client.start::<steps>(format!("s-{n}"), 5).await.unwrap());
    }
    for run in &runs {
        run.result().await.unwrap();
    }
    assert_eq!(calls.get(), 40 * 5 * 2, "a step was lost or made twice though nothing died");
    tokio::join!(one.shutdown(), two.shutdown());
}
