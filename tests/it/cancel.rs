//! Cancellation: of the run, and of calls that are dropped.

use std::time::Duration;

use durable::prelude::*;

use crate::harness::{Run, cancel, commands, done, fired, load};

#[activity]
async fn work(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(1)
}

#[workflow]
async fn polite(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let (result, slept) = durable::join!(work(ctx), ctx.sleep(Duration::from_mins(1)));
    if slept.is_err() {
        assert!(ctx.is_cancelled());
        // Refused here, allowed under the shield.
        assert_eq!(work(ctx).await.unwrap_err().kind, ActivityErrorKind::Cancelled);
        ctx.shield(async { work(ctx).await }).await?;
    }
    Ok(result?)
}

#[test]
fn a_cancel_request_ends_the_waits_in_order_and_clean_up_goes_on() {
    let mut run = Run::<polite>::evicted_each_turn(&());
    run.turn([]);
    let output = run.turn([cancel()]);
    assert_eq!(commands(&output), ["cancel activity 1", "cancel timer 2", "activity 3 block#1/work#1"]);
    assert_eq!(output.cancelled.len(), 1);
    // What still arrives for the cancelled ones changes nothing.
    assert_eq!(commands(&run.turn([done(1, 9), fired(2)])), [""; 0]);
    let end = commands(&run.turn([done(3, 1)]));
    assert_eq!(end, ["canceled activity `work` was cancelled: the workflow was asked to cancel"]);
}

#[test]
fn a_cancel_before_the_first_turn_is_seen_by_the_workflow_and_draws_no_id() {
    let mut run = Run::<polite>::new(&());
    let output = run.turn([cancel()]);
    assert!(commands(&output)[0].starts_with("activity 1"), "the start is delivered before the request");
    let mut run = Run::<stubborn>::new(&());
    run.turn([]);
    assert_eq!(
        commands(&run.turn([cancel()])),
        ["cancel timer 1", "completed 7"],
        "Ok after a cancel completes"
    );
}

#[workflow]
async fn stubborn(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let waited = ctx.sleep(Duration::from_mins(1)).await;
    Ok(if waited.is_err() { 7 } else { 0 })
}

#[workflow]
async fn dropper(ctx: &WorkflowContext, at_once: bool) -> Result<(), WorkflowError> {
    let beside = ctx.spawn(work(ctx));
    if !at_once {
        ctx.sleep(Duration::from_secs(1)).await?;
    }
    drop(beside);
    ctx.sleep(Duration::from_secs(5)).await?;
    Ok(())
}

#[test]
fn schedule_then_cancel_in_one_turn_is_a_pair_and_starts_nothing() {
    let mut run = Run::<dropper>::new(&true);
    let output = run.turn([]);
    assert_eq!(
        commands(&output),
        ["activity 1 spawn#1/work#1", "cancel activity 1", "timer 2 sleep#1"]
            .map(|line| line.replace("spawn#1/", ""))
    );
    assert!(output.scheduled.is_empty() && output.cancelled.is_empty(), "{output:?}");
    assert_eq!(run.live().open_activities(), []);
}

#[test]
fn dropping_a_polled_call_requests_its_cancellation() {
    let mut run = Run::<dropper>::evicted_each_turn(&false);
    assert_eq!(run.turn([]).scheduled.len(), 1);
    let output = run.turn([fired(2)]);
    assert_eq!(commands(&output), ["cancel activity 1", "timer 3 sleep#2"]);
    assert_eq!(output.cancelled, [durable::id::CommandId(1)]);
}

#[test]
fn leaving_memory_issues_no_command() {
    let mut run = Run::<dropper>::new(&false);
    run.turn([]);
    let before = run.history.clone();
    drop(load::<dropper>(&before).unwrap());
    let again = load::<dropper>(&before).unwrap();
    assert_eq!(again.open_activities().len(), 1, "eviction cancelled a call");
}

thread_local! {
    static CLEANED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

struct Cleaner(WorkflowContext);

impl Drop for Cleaner {
    fn drop(&mut self) {
        let _ = self.0.side_effect("clean", || CLEANED.set(CLEANED.get() + 1));
    }
}

#[workflow]
async fn tidy(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let cleaner = Cleaner(ctx.clone());
    ctx.sleep(Duration::from_secs(1)).await?;
    drop(cleaner);
    Ok(())
}

#[test]
fn a_destructor_that_issues_a_command_does_nothing_when_the_run_leaves_memory() {
    let mut run = Run::<tidy>::new(&());
    run.turn([]);
    let history = run.history.clone();
    // Both as replayed and as it stands after a live turn.
    drop(load::<tidy>(&history).unwrap());
    drop(run);
    assert_eq!(CLEANED.get(), 0, "eviction ran workflow code");
    let mut run = Run::<tidy>::resume(history);
    assert_eq!(commands(&run.turn([fired(1)])), ["marker", "completed null"]);
    assert_eq!(CLEANED.get(), 1);
}
