//! Durable timers.

use std::time::Duration;

use durable::history::EventKind;
use durable::limits::TIMER_MAX;
use durable::prelude::*;

use crate::harness::{Run, commands, fired, second};

#[workflow]
async fn nap(ctx: &WorkflowContext, us: u64) -> Result<(), WorkflowError> {
    ctx.try_sleep(Duration::from_micros(us))?.await?;
    Ok(())
}

#[test]
fn zero_is_recorded_and_fires_at_once() {
    let mut run = Run::<nap>::new(&0);
    assert_eq!(commands(&run.at(7).turn([])), ["timer 1 sleep#1"]);
    assert_eq!(run.live().due_timers(second(7)), [fired(1)]);
    assert_eq!(commands(&run.turn([fired(1)])), ["completed null"]);
}

#[test]
fn a_hundred_years_wait_and_more_is_a_typed_error() {
    let most = u64::try_from(TIMER_MAX.as_micros()).unwrap();
    let mut run = Run::<nap>::new(&most);
    let output = run.at(7).turn([]);
    assert_eq!(output.next_timer, Some(second(7).plus(TIMER_MAX)));
    assert_eq!(run.live().due_timers(second(1_000_000_000)), []);

    let mut run = Run::<nap>::new(&(most + 1));
    let failed = commands(&run.turn([]));
    assert!(failed[0].starts_with("failed a timer of") && failed[0].contains("100 years"), "{failed:?}");
    assert!(run.live().next_timer().is_none());
}

#[test]
fn the_fire_time_counts_from_the_turn_and_replay_keeps_it() {
    let mut run = Run::<nap>::new(&60_000_000);
    let output = run.at(100).turn([]);
    let fire_at = output.events.iter().find_map(|event| match event.kind {
        EventKind::TimerStarted { fire_at, .. } => Some(fire_at),
        _ => None,
    });
    assert_eq!(fire_at, Some(second(160)));
    // Replayed an hour later by another process, it is due when it was.
    let later = Run::<nap>::resume(run.history);
    assert_eq!(later.live().next_timer(), Some(second(160)));
    assert_eq!(later.live().due_timers(second(159)), []);
    assert_eq!(later.live().due_timers(second(160)), [fired(1)]);
}

#[workflow]
async fn several(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let s = |n| ctx.sleep(Duration::from_secs(n));
    let (a, b, c) = durable::join!(s(30), s(10), s(10));
    a.and(b).and(c)?;
    Ok(())
}

#[test]
fn timers_of_one_turn_fire_in_order_of_due_time_and_id() {
    let mut run = Run::<several>::new(&());
    run.at(0).turn([]);
    assert_eq!(run.live().due_timers(second(60)), [fired(2), fired(3), fired(1)]);
}
