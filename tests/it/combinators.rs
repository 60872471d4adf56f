//! `select!`, `try_join!`, `map_concurrent`, time limits and conditions: history decides, and replay decides alike.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use durable::TimeoutError;
use durable::history::{EventKind, Failure, FailureKind};
use durable::id::CommandId;
use durable::prelude::*;

use crate::harness::{Run, cancel, commands, done, failed, fired};

#[activity]
async fn a(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(1)
}

#[activity]
async fn b(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(2)
}

#[activity]
async fn item(_ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    Ok(n)
}

const SECOND: Duration = Duration::from_secs(1);

#[workflow]
async fn first_of(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
    durable::select! {
        one = a(ctx) => Ok(format!("a {}", one?)),
        two = b(ctx) => Ok(format!("b {}", two?)),
        slept = ctx.sleep(SECOND) => {
            slept?;
            Ok("slept".to_owned())
        }
    }
}

#[test]
fn the_branch_whose_result_history_holds_first_wins_in_every_order_of_one_batch() {
    let inputs = [done(1, 1), done(2, 2), fired(3)];
    let names = ["a 1", "b 2", "slept"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        // The harness replays the whole history after every turn; this one forgets the run before each, too.
        for fresh in [Run::<first_of>::new, Run::<first_of>::evicted_each_turn] {
            let mut run = fresh(&());
            let begun = run.turn([]);
            assert_eq!(
                commands(&begun),
                ["activity 1 select#1.0/a#1", "activity 2 select#1.1/b#1", "timer 3 select#1.2/sleep#1"]
            );
            let output = run.turn(order.map(|place| inputs[place].clone()));
            let all = commands(&output);
            assert_eq!(all.last().unwrap(), &format!("completed {:?}", names[order[0]]), "{order:?}");
            assert_eq!(all.len(), 3, "both losers are cancelled: {all:?}");
        }
    }
}

#[test]
fn losers_are_cancelled_in_source_order_before_the_handler_runs() {
    #[workflow]
    async fn ordered(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        durable::select! {
            one = a(ctx) => Ok(one?),
            slept = ctx.sleep(SECOND) => {
                slept?;
                Ok(item(ctx, 9).await?)
            }
            two = b(ctx) => Ok(two?),
        }
    }
    let mut run = Run::<ordered>::evicted_each_turn(&());
    run.turn([]);
    let output = run.turn([fired(2)]);
    assert_eq!(commands(&output), ["cancel activity 1", "cancel activity 3", "activity 4 item#1"]);
    assert_eq!(output.cancelled, [CommandId(1), CommandId(3)]);
    // What a loser answered all the same changes nothing.
    run.turn([done(1, 5)]);
    assert_eq!(commands(&run.turn([done(4, 9)])), ["completed 9"]);
}

#[test]
fn ties_go_by_source_order_and_a_branch_that_is_there_at_once_begins_no_other() {
    #[workflow]
    async fn ready(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        durable::select! {
            _ = async { 7 } => {}
            _ = a(ctx) => unreachable!("a branch before it is there at once"),
        }
        let handle = ctx.spawn(a(ctx));
        let other = ctx.spawn(b(ctx));
        ctx.sleep(SECOND).await?;
        // Both have ended before they are looked at.
        durable::select! {
            two = other => Ok(two?),
            one = handle => Ok(one?),
        }
    }
    let mut run = Run::<ready>::evicted_each_turn(&());
    assert_eq!(
        commands(&run.turn([])),
        ["activity 1 a#1", "activity 2 b#1", "timer 3 sleep#1"],
        "the call in the second branch was never polled"
    );
    run.turn([done(1, 1)]);
    run.turn([done(2, 2)]);
    assert_eq!(commands(&run.turn([fired(3)])), ["completed 2"]);
}

#[test]
fn a_future_that_is_only_lent_goes_on_and_stays_one_command() {
    #[workflow]
    async fn patient(ctx: &WorkflowContext) -> Result<(u32, u32), WorkflowError> {
        let mut call = a(ctx).into_future();
        let mut late = 0;
        let value = loop {
            durable::select! {
                value = &mut call => break value?,
                slept = ctx.sleep(SECOND) => {
                    slept?;
                    late += 1;
                }
            }
        };
        Ok((value, late))
    }
    let mut run = Run::<patient>::evicted_each_turn(&());
    assert_eq!(commands(&run.turn([])), ["activity 1 a#1", "timer 2 select#1.1/sleep#1"]);
    assert_eq!(commands(&run.turn([fired(2)])), ["timer 3 select#2.1/sleep#1"]);
    assert_eq!(commands(&run.turn([fired(3)])), ["timer 4 select#3.1/sleep#1"]);
    assert_eq!(commands(&run.turn([done(1, 5)])), ["cancel timer 4", "completed [5,2]"]);
}

#[test]
fn a_handle_polled_by_a_select_and_awaited_later_is_one_command() {
    #[workflow]
    async fn handed(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let mut handle = ctx.spawn(a(ctx));
        let mut block = async { b(ctx).await };
        durable::select! {
            one = &mut handle => return Ok(one?),
            two = &mut block => return Ok(two? + 100),
            slept = ctx.sleep(SECOND) => slept?,
        }
        let (two, one) = (block.await?, handle.await?);
        Ok(one + two * 10)
    }
    let mut run = Run::<handed>::evicted_each_turn(&());
    assert_eq!(
        commands(&run.turn([])),
        ["activity 1 a#1", "activity 2 block#1/b#1", "timer 3 select#1.2/sleep#1"]
    );
    assert_eq!(commands(&run.turn([fired(3)])), Vec::<String>::new(), "what is awaited has begun already");
    run.turn([done(1, 1)]);
    assert_eq!(commands(&run.turn([done(2, 2)])), ["completed 21"]);
}

#[test]
fn selects_nest_and_an_edit_in_one_branch_changes_no_key_of_another() {
    #[workflow]
    async fn nested(ctx: &WorkflowContext, more: bool) -> Result<u32, WorkflowError> {
        durable::select! {
            inner = async {
                if more {
                    ctx.sleep(Duration::ZERO).await.ok();
                }
                durable::select! {
                    one = a(ctx) => one,
                    two = b(ctx) => two,
                }
            } => Ok(inner?),
            three = item(ctx, 3) => Ok(three?),
        }
    }
    let mut run = Run::<nested>::evicted_each_turn(&false);
    assert_eq!(
        commands(&run.turn([])),
        [
            "activity 1 select#1.0/block#1/select#1.0/a#1",
            "activity 2 select#1.0/block#1/select#1.1/b#1",
            "activity 3 select#1.1/item#1"
        ]
    );
    let all = commands(&run.turn([done(2, 2), done(3, 3)]));
    assert_eq!(all, ["cancel activity 1", "cancel activity 3", "completed 2"]);
    let mut edited = Run::<nested>::evicted_each_turn(&true);
    assert_eq!(
        commands(&edited.turn([])),
        ["timer 1 select#1.0/block#1/sleep#1", "activity 2 select#1.1/item#1"]
    );
}

#[test]
fn conditions_patterns_and_else_disable_branches() {
    #[workflow]
    async fn picky(ctx: &WorkflowContext, ask_a: bool, ask_b: bool) -> Result<String, WorkflowError> {
        let made = Cell::new(0);
        let text = durable::select! {
            biased;
            Ok(mut value) = { made.set(made.get() + 1); a(ctx) }, if ask_a => {
                value += 1;
                format!("a {value}")
            },
            Ok(value @ (1 | 2)) = { made.set(made.get() + 1); b(ctx) }, if ask_b && made.get() == 0 =>
                format!("b {value}"),
            else => "nothing".to_owned(),
        };
        Ok(format!("{text}, {} made", made.get()))
    }
    let ends = |asked: (bool, bool), turns: Vec<Vec<EventKind>>| {
        let mut run = Run::<picky>::evicted_each_turn(&asked);
        let mut last = run.turn([]);
        for turn in turns {
            last = run.turn(turn);
        }
        commands(&last).pop().unwrap()
    };
    let error = |id| failed(id, "no", "no", &[]);
    assert_eq!(ends((false, false), vec![]), r#"completed "nothing, 0 made""#);
    assert_eq!(ends((true, false), vec![vec![done(1, 5)]]), r#"completed "a 6, 1 made""#);
    assert_eq!(ends((false, true), vec![vec![done(1, 2)]]), r#"completed "b 2, 1 made""#);
    assert_eq!(ends((true, true), vec![vec![error(1)], vec![done(2, 1)]]), r#"completed "b 1, 2 made""#);
    assert_eq!(ends((true, true), vec![vec![error(1), done(2, 3)]]), r#"completed "nothing, 2 made""#);
    #[workflow]
    async fn stuck(ctx: &WorkflowContext, ask: bool) -> Result<u32, WorkflowError> {
        durable::select! {
            Ok(value) = a(ctx), if ask => Ok(value),
        }
    }
    let mut run = Run::<stuck>::new(&false);
    let reason = run.try_turn(vec![]).unwrap_err().reason;
    assert!(reason.contains("every branch of a `select!` is disabled, and it has no `else`"), "{reason}");
}

#[workflow]
async fn all_or_none(ctx: &WorkflowContext) -> Result<u32, ActivityError<String>> {
    let (one, two, three) = durable::try_join!(a(ctx), b(ctx), async {
        ctx.sleep(SECOND).await.ok();
        item(ctx, 3).await
    })?;
    Ok(one + two + three)
}

#[test]
fn try_join_gives_all_values_or_the_first_error_of_history_and_cancels_the_rest() {
    let mut run = Run::<all_or_none>::evicted_each_turn(&());
    assert_eq!(
        commands(&run.turn([])),
        [
            "activity 1 try_join#1.0/a#1",
            "activity 2 try_join#1.1/b#1",
            "timer 3 try_join#1.2/block#1/sleep#1"
        ]
    );
    run.turn([done(2, 20)]);
    run.turn([done(1, 1), fired(3)]);
    assert_eq!(commands(&run.turn([done(4, 3)])), ["completed 24"]);
    let mut run = Run::<all_or_none>::evicted_each_turn(&());
    run.turn([]);
    let all = commands(&run.turn([failed(2, "two", "two", &[]), failed(1, "one", "one", &[])]));
    assert_eq!(all, ["cancel activity 1", "cancel timer 3", "failed activity `b` failed: two"]);
}

#[workflow]
async fn every_item(ctx: &WorkflowContext, count: u32) -> Result<Vec<u32>, ActivityError<String>> {
    durable::try_join_all((0..count).map(|n| item(ctx, n))).await
}

#[test]
fn try_join_all_gives_values_in_order_or_the_first_error_and_cancels_the_rest() {
    let mut run = Run::<every_item>::evicted_each_turn(&3);
    run.turn([]);
    run.turn([done(3, 30), done(1, 10)]);
    assert_eq!(commands(&run.turn([done(2, 20)])), ["completed [10,20,30]"]);
    let mut run = Run::<every_item>::evicted_each_turn(&4);
    run.turn([]);
    run.turn([done(2, 20)]);
    let all = commands(&run.turn([failed(3, "no", "no", &[]), failed(1, "late", "late", &[])]));
    assert_eq!(all, ["cancel activity 1", "cancel activity 4", "failed activity `item` failed: no"]);
    assert_eq!(commands(&Run::<every_item>::new(&0).turn([])), ["completed []"]);
}

#[workflow]
async fn few_at_a_time(ctx: &WorkflowContext, count: u32, limit: usize) -> Result<Vec<u32>, WorkflowError> {
    let done = durable::map_concurrent(0..count, limit, |n| item(ctx, n)).await;
    Ok(done.into_iter().collect::<Result<_, _>>()?)
}

#[test]
fn map_concurrent_begins_an_item_when_one_before_it_ends() {
    let mut run = Run::<few_at_a_time>::evicted_each_turn(&(5, 2));
    let key = |id: u32, place: u32| format!("activity {id} map_concurrent#1.{place}/item#1");
    assert_eq!(commands(&run.turn([])), [key(1, 0), key(2, 1)]);
    assert_eq!(commands(&run.turn([done(2, 1)])), [key(3, 2)]);
    assert_eq!(commands(&run.turn([done(3, 2), done(1, 0)])), [key(4, 3), key(5, 4)]);
    run.turn([done(5, 4)]);
    assert_eq!(commands(&run.turn([done(4, 3)])), ["completed [0,1,2,3,4]"]);
    assert_eq!(commands(&Run::<few_at_a_time>::new(&(0, 1)).turn([])), ["completed []"]);
    assert_eq!(commands(&Run::<few_at_a_time>::new(&(3, usize::MAX)).turn([])).len(), 3);
    let reason = Run::<few_at_a_time>::new(&(1, 0)).try_turn(vec![]).unwrap_err().reason;
    assert!(reason.contains("a limit of 0 would never begin"), "{reason}");
}

#[workflow]
async fn in_time(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
    match ctx.timeout(SECOND, a(ctx)).await {
        Ok(value) => Ok(format!("{}", value?)),
        Err(TimeoutError::Elapsed(limit)) => Ok(format!("late after {limit:?}, {}", b(ctx).await?)),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn a_time_limit_ends_a_wait_and_whichever_comes_later_is_cancelled() {
    let begin = || {
        let mut run = Run::<in_time>::evicted_each_turn(&());
        assert_eq!(commands(&run.turn([])), ["activity 1 a#1", "timer 2 timeout#1"]);
        run
    };
    assert_eq!(commands(&begin().turn([done(1, 7), fired(2)])), ["cancel timer 2", r#"completed "7""#]);
    let mut late = begin();
    assert_eq!(commands(&late.turn([fired(2), done(1, 7)])), ["cancel activity 1", "activity 3 b#1"]);
    assert_eq!(commands(&late.turn([done(3, 2)])), [r#"completed "late after 1s, 2""#]);
    let all = commands(&begin().turn([cancel()]));
    assert_eq!(all[..2], ["cancel activity 1", "cancel timer 2"]);
    assert!(all[2].starts_with("canceled activity `a` was cancelled"), "{all:?}");
    #[workflow]
    async fn at_once(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        Ok(ctx.timeout(SECOND, async { 1 }).await?)
    }
    assert_eq!(commands(&Run::<at_once>::new(&()).turn([])), ["completed 1"], "no timer is started");
    #[workflow]
    async fn too_long(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        Ok(ctx.timeout(Duration::MAX, async { 1 }).await?)
    }
    let reason = Run::<too_long>::new(&()).try_turn(vec![]).unwrap_err().reason;
    assert!(reason.contains("longer than the longest"), "{reason}");
}

/// Counts how often its conditions are looked at.
#[workflow]
async fn half(ctx: &WorkflowContext) -> Result<(u32, Vec<u32>), WorkflowError> {
    let (count, order) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(Vec::new())));
    for n in 0..6 {
        let (ctx2, count) = (ctx.clone(), Rc::clone(&count));
        ctx.spawn(async move {
            if item(&ctx2, n).await.is_ok() {
                count.set(count.get() + 1);
            }
        })
        .detach();
    }
    for at_least in [2, 1] {
        let (ctx2, count, order) = (ctx.clone(), Rc::clone(&count), Rc::clone(&order));
        ctx.spawn(async move {
            if ctx2.wait_until(|| count.get() >= at_least).await.is_ok() {
                order.borrow_mut().push(at_least);
            }
        })
        .detach();
    }
    // Made true by those who waited for another one.
    ctx.wait_until(|| order.borrow().len() == 2).await?;
    let seen = order.borrow().clone();
    Ok((count.get(), seen))
}

#[test]
fn a_condition_is_seen_as_soon_as_anything_makes_it_true() {
    let mut run = Run::<half>::evicted_each_turn(&());
    run.turn([]);
    run.turn([failed(3, "no", "no", &[])]);
    run.turn([done(5, 5)]);
    assert_eq!(commands(&run.turn([done(1, 1), done(2, 2)])), ["completed [2,[1,2]]"]);
    // Two in one batch: after the first event one condition holds, after the second the other.
    let mut run = Run::<half>::evicted_each_turn(&());
    run.turn([]);
    assert_eq!(commands(&run.turn([done(4, 4), done(6, 6)])), ["completed [2,[1,2]]"]);
}

#[test]
fn conditions_that_make_each_other_true_all_hold_after_one_event() {
    #[workflow]
    async fn chain(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let reached = Rc::new(Cell::new(9));
        // Each waits for the one after it, so a look in their order finds one at a time.
        for n in 0..4 {
            let (own, reached) = (ctx.clone(), Rc::clone(&reached));
            ctx.spawn(async move {
                own.wait_until(|| reached.get() == n + 1).await.ok();
                reached.set(n);
            })
            .detach();
        }
        ctx.sleep(SECOND).await?;
        reached.set(4);
        ctx.wait_until(|| reached.get() == 0).await?;
        Ok(reached.get())
    }
    let mut run = Run::<chain>::evicted_each_turn(&());
    run.turn([]);
    assert_eq!(commands(&run.turn([fired(1)])), ["completed 0"]);
}

#[test]
fn a_condition_ends_with_a_cancel_request_and_one_that_nothing_can_change_is_refused() {
    #[workflow]
    async fn waits(ctx: &WorkflowContext, beside: bool) -> Result<u32, WorkflowError> {
        let _timer = beside.then(|| ctx.spawn(ctx.sleep(SECOND)));
        ctx.wait_until(|| false).await?;
        Ok(1)
    }
    let mut run = Run::<waits>::evicted_each_turn(&true);
    run.turn([]);
    let all = commands(&run.turn([cancel()]));
    assert_eq!(all[0], "cancel timer 1");
    assert!(all[1].starts_with("canceled"), "{all:?}");
    let mut run = Run::<waits>::evicted_each_turn(&true);
    run.turn([]);
    let reason = run.try_turn(vec![fired(1)]).unwrap_err().reason;
    assert!(reason.contains("a condition that nothing pending can change"), "{reason}");
    assert!(Run::<waits>::new(&false).try_turn(vec![]).is_err());
}

#[test]
fn a_loser_of_a_cancelled_select_records_nothing_more() {
    #[workflow]
    async fn cancelled(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        durable::select! {
            one = a(ctx) => Ok(one?),
            slept = ctx.sleep(SECOND) => {
                slept?;
                Ok(2)
            }
        }
    }
    let mut run = Run::<cancelled>::evicted_each_turn(&());
    run.turn([]);
    let all = commands(&run.turn([cancel()]));
    assert_eq!(all[..2], ["cancel activity 1", "cancel timer 2"], "each once, in order of id");
    assert!(all[2].starts_with("canceled"), "{all:?}");
    assert_eq!(all.len(), 3);
    let outcome = EventKind::ActivityTaskFailed {
        id: CommandId(1),
        attempt: 1,
        failure: Failure::new(FailureKind::Cancelled, "told to"),
    };
    let mut run = Run::<cancelled>::evicted_each_turn(&());
    run.turn([]);
    assert_eq!(commands(&run.turn([outcome]))[0], "cancel timer 2");
}
