//! Deterministic mode itself: the same seed is the same execution.

use std::collections::HashSet;
use std::time::Duration;

use durable::prelude::*;
use durable_testkit::{Call, Fate, World};

use crate::harness::{Calls, Fixture, in_this_world};

#[activity(retry(max_attempts = 20, initial = "10ms"))]
async fn flaky(ctx: &ActivityContext) -> Result<u32, String> {
    let call = ctx.state::<Calls>().add();
    if call.is_multiple_of(3) { Err(format!("call {call} fails")) } else { Ok(call) }
}

#[workflow]
async fn mixed(ctx: &WorkflowContext, width: usize) -> Result<Vec<u32>, WorkflowError> {
    let mut all = Vec::new();
    for done in durable::join_all((0..width).map(|_| flaky(ctx))).await {
        all.push(done?);
        ctx.sleep(Duration::from_millis(7)).await?;
    }
    Ok(all)
}

fn every_eleventh(call: Call) -> Fate {
    if call.number % 11 == 10 { Fate::LoseAnswer } else { Fate::Answer }
}

/// Calls, results and histories of five runs on two workers, one of which dies; every eleventh answer is lost.
fn execution(world: World) -> (Vec<String>, Vec<Vec<u32>>, String) {
    let kept = world.clone();
    let (results, histories) = in_this_world(world, async |world| {
        world.direct(every_eleventh);
        let fixture = Fixture::new(&world).await;
        let calls = Calls::default();
        let build = |slot: &str| {
            let worker = fixture.durable.worker().workflow::<mixed>().activity::<flaky>().slot(slot);
            worker.state(calls.clone()).lease(Duration::from_secs(2)).start()
        };
        let (keeps, dies) = (build("keeps").await, build("dies").await.unwrap());
        let client = fixture.durable.client();
        let mut runs = Vec::new();
        for width in 1..6 {
            runs.push(client.start::<mixed>(format!("m-{width}"), width).await.unwrap());
        }
        fixture.pause(Duration::from_millis(15)).await;
        drop(dies);
        let (mut results, mut histories) = (Vec::new(), Vec::new());
        for run in &runs {
            results.push(fixture.soon(run.result()).await.unwrap());
            world.direct(|_| Fate::Answer);
            histories.extend(fixture.history(run.run_id()).await);
            world.direct(every_eleventh);
        }
        drop(keeps);
        (results, histories)
    });
    let calls = kept.calls().iter().map(|call| format!("{call:?}")).collect();
    (calls, results, format!("{histories:?}"))
}

#[test]
fn the_same_seed_is_the_same_execution_and_another_is_another() {
    let mut orders = HashSet::new();
    for seed in 0..6 {
        let (first, second) = (execution(World::seeded(seed)), execution(World::seeded(seed)));
        assert!(first.0.len() > 40, "only {} calls", first.0.len());
        assert_eq!(first, second, "seed {seed} gave two executions");
        orders.insert(first.0);
    }
    assert_eq!(orders.len(), 6, "seeds do not change the order of calls");
    assert_eq!(execution(World::new()), execution(World::new()));
}
