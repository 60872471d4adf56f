//! Stable command ids: keys by structure, ids by first poll.

use durable::prelude::*;

use crate::harness::{Run, commands, done};

#[activity]
async fn a(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(1)
}

#[activity]
async fn b(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(2)
}

#[workflow]
async fn branches(ctx: &WorkflowContext, more: bool) -> Result<(), WorkflowError> {
    let left = async {
        if more {
            b(ctx).await?;
        }
        a(ctx).await
    };
    let (x, y) = durable::join!(left, a(ctx));
    x.and(y)?;
    Ok(())
}

#[test]
fn a_command_added_in_one_branch_changes_no_key_of_another() {
    let (mut old, mut new) = (Run::<branches>::new(&false), Run::<branches>::new(&true));
    assert_eq!(commands(&old.turn([])), ["activity 1 block#1/a#1", "activity 2 join#1.1/a#1"]);
    assert_eq!(commands(&new.turn([])), ["activity 1 block#1/b#1", "activity 2 join#1.1/a#1"]);
    assert_eq!(commands(&new.turn([done(1, 2)])), ["activity 3 block#1/a#1"]);
}

#[workflow]
async fn built_and_awaited(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let (first, second) = (a(ctx), a(ctx));
    let never = b(ctx);
    second.await?;
    first.await?;
    drop(never);
    b(ctx).await?;
    Ok(())
}

#[test]
fn keys_follow_the_building_and_ids_the_first_poll() {
    let mut run = Run::<built_and_awaited>::new(&());
    assert_eq!(commands(&run.turn([])), ["activity 1 a#2"]);
    assert_eq!(commands(&run.turn([done(1, 1)])), ["activity 2 a#1"]);
    assert_eq!(commands(&run.turn([done(2, 1)])), ["activity 3 b#2"], "a call never polled is no command");
}

#[durable::helper]
async fn both(ctx: &WorkflowContext) -> Result<u32, ActivityError<String>> {
    Ok(a(ctx).await? + b(ctx).await?)
}

#[workflow(name = "extracted")]
async fn inline(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(a(ctx).await? + b(ctx).await?)
}

#[workflow(name = "extracted")]
async fn extracted(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(both(ctx).await?)
}

#[test]
fn extracting_a_plain_helper_changes_no_key() {
    let (mut old, mut new) = (Run::<inline>::new(&()), Run::<extracted>::new(&()));
    for inputs in [vec![], vec![done(1, 1)], vec![done(2, 2)]] {
        assert_eq!(commands(&old.turn(inputs.clone())), commands(&new.turn(inputs)));
    }
    crate::harness::load::<extracted>(&old.history).unwrap();
}

#[workflow]
async fn polled_then_awaited(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let handle = ctx.spawn(a(ctx));
    let mut call = Box::pin(b(ctx).into_future());
    let beside = ctx.spawn(a(ctx));
    // Polled inside a join that also waits for something else, then again by itself.
    let (one, two) = durable::join!(&mut call, beside);
    Ok(one? + two? + handle.await?)
}

#[test]
fn a_call_polled_before_and_awaited_later_is_one_command() {
    let mut run = Run::<polled_then_awaited>::evicted_each_turn(&());
    let issued = commands(&run.turn([]));
    assert_eq!(issued, ["activity 1 a#1", "activity 2 a#2", "activity 3 b#1"]);
    assert_eq!(commands(&run.turn([done(3, 2)])), [""; 0]);
    assert_eq!(commands(&run.turn([done(2, 1)])), [""; 0]);
    assert_eq!(commands(&run.turn([done(1, 10)])), ["completed 13"]);
}

#[workflow]
async fn wide(ctx: &WorkflowContext, width: u32) -> Result<u32, WorkflowError> {
    let all = durable::join_all((0..width).map(|_| a(ctx))).await;
    Ok(all.into_iter().filter_map(Result::ok).sum())
}

#[test]
fn a_wide_fan_out_is_one_turn_and_each_result_counts_once() {
    for width in [1, 98, 99, 1_000] {
        let mut run = Run::<wide>::new(&width);
        assert_eq!(commands(&run.turn([])).len(), width as usize);
        let mut results: Vec<_> = (1..=u64::from(width)).map(|id| done(id, 1)).collect();
        results.push(done(1, 1_000_000));
        assert_eq!(commands(&run.turn(results)), [format!("completed {width}")], "a second outcome counted");
    }
}

#[workflow]
async fn derived(ctx: &WorkflowContext, more: bool) -> Result<Vec<String>, WorkflowError> {
    if more {
        ctx.random();
    }
    let id = ctx.uuid();
    a(ctx).await?;
    Ok(vec![id.to_string(), ctx.uuid().to_string()])
}

#[test]
fn a_random_call_added_elsewhere_changes_no_unique_id() {
    let ids = |more| {
        let mut run = Run::<derived>::evicted_each_turn(&more);
        run.turn([]);
        commands(&run.turn([done(1, 1)]))
    };
    assert_eq!(ids(false), ids(true));
    let both: Vec<String> = serde_json::from_str(ids(true)[0].strip_prefix("completed ").unwrap()).unwrap();
    assert_ne!(both[0], both[1]);
}
