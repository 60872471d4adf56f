//! Time through a provider: what a workflow sees of it, and when timers fire.

use std::time::Duration;

use durable::history::EventKind;
use durable::prelude::*;
use durable_core::client::RunError;
use durable_core::provider::Status;
use durable_core::runtime::Worker;

use crate::harness::{Fixture, in_world};

/// What `now()` was at the start, twice in the first turn, after a sleep, and at the end.
#[workflow]
async fn watch(ctx: &WorkflowContext, sleep_ms: u64) -> Result<Vec<i64>, WorkflowError> {
    let mut seen = vec![ctx.now().as_micros()];
    ctx.side_effect("pause", || 1)?;
    seen.push(ctx.now().as_micros());
    for _ in 0..2 {
        ctx.sleep(Duration::from_millis(sleep_ms)).await?;
        seen.push(ctx.now().as_micros());
    }
    Ok(seen)
}

async fn watcher(fixture: &Fixture) -> Worker {
    let worker = fixture.durable.worker().workflow::<watch>().workflow::<nap>().build_id("one");
    worker.lease(Duration::from_secs(2)).start().await.unwrap()
}

#[test]
fn now_is_the_recorded_start_of_the_turn_and_a_sleep_lasts_at_least_its_time_across_a_crash() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let dies = watcher(&fixture).await;
        let run = fixture.durable.client().start::<watch>("w", 90_000).await.unwrap();
        fixture.pause(Duration::from_secs(100)).await;
        drop(dies);
        // Dead while the second timer becomes due.
        fixture.pause(Duration::from_mins(5)).await;
        let heir = watcher(&fixture).await;
        let seen = fixture.soon(run.result()).await.unwrap();
        let turns: Vec<i64> = fixture
            .history(run.run_id())
            .await
            .iter()
            .filter(|event| matches!(event.kind, EventKind::WorkflowTaskStarted { .. }))
            .map(|event| event.at.as_micros())
            .collect();
        assert_eq!(seen, [turns[0], turns[0], turns[1], turns[2]], "not the recorded times of the turns");
        assert!(seen[2] - seen[1] >= 90_000_000, "{seen:?}");
        assert!(seen[3] - seen[2] >= 300_000_000, "the dead time is missing: {seen:?}");
        heir.shutdown().await;
    });
}

#[workflow]
async fn nap(ctx: &WorkflowContext, us: u64) -> Result<i64, WorkflowError> {
    let before = ctx.now();
    ctx.try_sleep(Duration::from_micros(us))?.await?;
    Ok(i64::try_from(ctx.now().since(before).as_micros())?)
}

#[test]
fn a_timer_of_zero_is_recorded_and_fires_at_once() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let worker = watcher(&fixture).await;
        let run = fixture.durable.client().start::<nap>("n", 0).await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 0);
        let kinds: Vec<_> =
            fixture.history(run.run_id()).await.iter().map(|event| event.kind.name()).collect();
        assert!(kinds.contains(&"TimerStarted") && kinds.contains(&"TimerFired"), "{kinds:?}");
        worker.shutdown().await;
    });
}

#[test]
fn a_timer_of_a_hundred_years_waits_and_a_longer_one_is_a_typed_error() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let worker = watcher(&fixture).await;
        let client = fixture.durable.client();
        let most = u64::try_from(durable::limits::TIMER_MAX.as_micros()).unwrap();
        let run = client.start::<nap>("most", most).await.unwrap();
        let long = client.start::<nap>("long", most + 1).await.unwrap();
        let RunError::Failed { error, .. } = fixture.soon(long.result()).await.unwrap_err() else {
            panic!("another error")
        };
        assert!(error.to_string().contains("100 years"), "{error}");
        fixture.pause(Duration::from_mins(10)).await;
        assert_eq!(run.describe().await.unwrap().status, Status::Waiting);
        run.cancel("a century is long").await.unwrap();
        assert!(matches!(fixture.soon(run.result()).await.unwrap_err(), RunError::Canceled { .. }));
        worker.shutdown().await;
    });
}

#[test]
fn a_timer_counts_from_the_turn_that_set_it_not_from_when_its_owner_learns_of_it() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let run = fixture.durable.client().start::<nap>("n", 60_000_000).await.unwrap();
        // The first turn is late; its time is the claim's, not the start's.
        fixture.pause(Duration::from_mins(5)).await;
        let sets = watcher(&fixture).await;
        fixture.pause(Duration::from_secs(30)).await;
        sets.shutdown().await;
        fixture.pause(Duration::from_secs(20)).await;
        let begun = world.clock().now();
        let fires = watcher(&fixture).await;
        let slept = fixture.soon(run.result()).await.unwrap();
        assert!((60_000_000..61_000_000).contains(&slept), "slept {slept} µs");
        let waited = world.clock().now().since(begun);
        assert!(waited < Duration::from_secs(12), "the timer started anew: waited {waited:?}");
        fires.shutdown().await;
    });
}
