//! Every provider call of many workflows is a moment to die at, to lose an answer, or to be repeated.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable::prelude::*;
use durable_core::provider::Status;
use durable_testkit::Effects;
use durable_testkit::explore::{Report, Stage, explore};

use crate::backend;

#[activity]
async fn step(ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    ctx.state::<Effects>().record(ctx, format!("step {n}"));
    Ok(n)
}

/// Fails twice, then does what it should.
#[activity(retry(initial = "100ms"))]
async fn third_time(ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    if ctx.attempt() < 3 {
        return Err(format!("attempt {}", ctx.attempt()));
    }
    ctx.state::<Effects>().record(ctx, format!("third time {n}"));
    Ok(n)
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("no stock of {0}")]
struct NoStock(u32);

#[activity(retry(max_attempts = 3, initial = "100ms"))]
async fn panics(ctx: &ActivityContext) -> Result<(), String> {
    assert_eq!(ctx.workflow_id().to_string(), "nobody", "on purpose");
    Ok(())
}

impl RetryAdvice for NoStock {
    fn retryable(&self) -> bool {
        false
    }
}

/// Fails for good, in whichever attempt gets that far.
#[activity(retry(initial = "100ms"))]
async fn reserve(ctx: &ActivityContext, n: u32) -> Result<(), NoStock> {
    ctx.state::<Effects>().record(ctx, "asked");
    Err(NoStock(n))
}

#[workflow]
async fn sequence(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let mut total = 0;
    for n in 1..=3 {
        total += step(ctx, n).await?;
    }
    Ok(total)
}

#[workflow]
async fn nothing(_ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(7)
}

#[workflow]
async fn joined(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let chain = async {
        let one = step(ctx, 1).await?;
        step(ctx, one + 1).await
    };
    let (one, two, slept) = durable::join!(chain, step(ctx, 3), ctx.sleep(Duration::from_secs(1)));
    slept?;
    Ok(one? * 10 + two?)
}

#[workflow]
async fn fan_out(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let mut total = 0;
    for done in durable::join_all((0..6).map(|n| step(ctx, n))).await {
        total += done?;
    }
    Ok(total)
}

#[workflow]
async fn timers(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    ctx.sleep(Duration::ZERO).await?;
    let (long, short) = durable::join!(ctx.sleep(Duration::from_secs(3)), ctx.sleep(Duration::from_secs(2)));
    long.and(short)?;
    Ok(step(ctx, 1).await?)
}

#[workflow]
async fn retries(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let (one, two) = durable::join!(third_time(ctx, 1), step(ctx, 2));
    Ok(one? + two?)
}

#[workflow]
async fn fails(ctx: &WorkflowContext, n: u32) -> Result<(), NoStock> {
    match reserve(ctx, n).await {
        Err(error) => Err(error.error().cloned().unwrap_or(NoStock(0))),
        Ok(()) => Ok(()),
    }
}

#[workflow]
async fn survives_panics(ctx: &WorkflowContext) -> Result<bool, WorkflowError> {
    let error = panics(ctx).await.unwrap_err();
    step(ctx, 1).await?;
    Ok(matches!(error.kind, ActivityErrorKind::Panicked | ActivityErrorKind::Lost))
}

#[workflow]
async fn effects(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let one = ctx.side_effect("one", || 1)?;
    let before = step(ctx, one).await?;
    let two = ctx.side_effect("two", || 2)?;
    let drawn = (ctx.random(), ctx.uuid());
    ctx.sleep(Duration::from_secs(1)).await?;
    assert_ne!(drawn, (ctx.random(), ctx.uuid()));
    Ok(before + step(ctx, two).await?)
}

#[workflow]
async fn spawned(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let one = ctx.spawn(step(ctx, 1));
    let two = ctx.spawn(step(ctx, 2));
    let three = step(ctx, 3).await?;
    Ok(three + two.await? * 10 + one.await? * 100)
}

#[workflow]
async fn dropped(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let beside = ctx.spawn(ctx.sleep(Duration::from_hours(1)));
    let one = step(ctx, 1).await?;
    drop(beside);
    Ok(one + step(ctx, 2).await?)
}

#[workflow]
async fn cleans_up(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    if let Err(cancelled) = ctx.sleep(Duration::from_hours(1)).await {
        ctx.shield(async { step(ctx, 9).await }).await?;
        return Err(cancelled.into());
    }
    Ok(())
}

#[workflow]
async fn long(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let mut total = 0;
    for n in 0..25 {
        total += step(ctx, n).await?;
    }
    Ok(total)
}

/// Three runs, each with a step, a timer, and something left open that dies with it.
#[workflow]
async fn continues(ctx: &WorkflowContext, n: u32, total: u32) -> Result<u32, WorkflowError> {
    let total = total + step(ctx, n).await?;
    ctx.spawn(ctx.sleep(Duration::from_hours(1))).detach();
    ctx.sleep(Duration::from_secs(1)).await?;
    if n < 3 {
        return ctx.continue_as_new::<continues>((n + 1, total)).await;
    }
    Ok(total)
}

/// Goes on in a new run beside an activity that is tried again.
#[workflow]
async fn leaves_work(ctx: &WorkflowContext, n: u32) -> Result<u32, WorkflowError> {
    if n == 0 {
        ctx.spawn(never(ctx)).detach();
        step(ctx, 1).await?;
        ctx.sleep(Duration::from_millis(150)).await?;
        return ctx.continue_as_new::<leaves_work>(1).await;
    }
    let same_id = step(ctx, 2).await?;
    Ok(same_id + step(ctx, 3).await?)
}

/// Never succeeds, and tries for ever.
#[activity(retry(initial = "100ms"))]
async fn never(_ctx: &ActivityContext) -> Result<u32, String> {
    Err("not today".to_owned())
}

/// The first of three, a wait that goes on over several turns, and what a loser answers too late.
#[workflow]
async fn selects(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let mut call = third_time(ctx, 1).into_future();
    let two = durable::select! {
        two = step(ctx, 2) => two?,
        slept = ctx.sleep(Duration::from_hours(1)) => slept.map(|()| 0)?,
    };
    let limited = ctx.timeout(Duration::from_millis(50), never(ctx)).await;
    assert!(matches!(limited, Err(durable::TimeoutError::Elapsed(_))));
    let all = durable::try_join!(step(ctx, 3), step(ctx, 4))?;
    // Last: how many timers it takes depends on time, and so do the ids after them.
    let one = loop {
        durable::select! {
            one = &mut call => break one?,
            slept = ctx.sleep(Duration::from_millis(70)) => slept?,
        }
    };
    Ok(one + two + all.0 + all.1)
}

#[workflow]
async fn few_at_a_time(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let done = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = std::rc::Rc::clone(&done);
    let all = durable::map_concurrent(0..5, 2, |n| {
        let done = std::rc::Rc::clone(&counted);
        async move {
            let n = step(ctx, n).await;
            done.set(done.get() + 1);
            n
        }
    });
    let (all, waited) = durable::join!(all, ctx.wait_until(|| done.get() >= 3));
    waited?;
    Ok(all.into_iter().sum::<Result<u32, _>>()?)
}

#[workflow]
async fn versioned(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let first = if ctx.version("first", 1..=2) == 2 { step(ctx, 1).await? } else { 0 };
    ctx.deprecate_version("second", 3);
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(first + step(ctx, ctx.version("first", 1..=3)).await?)
}

#[workflow]
async fn repaired(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let one = step(ctx, 1).await?;
    Ok(one + step(ctx, 2).await?)
}

mod broken {
    use super::*;

    #[workflow(name = "repaired")]
    pub(super) async fn panics_after_a_step(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let one = step(ctx, 1).await?;
        assert_ne!(one, 1, "on purpose");
        Ok(one)
    }
}

/// Runs one workflow alone.
async fn alone<W: Workflow<Output: std::fmt::Debug, Error: std::fmt::Debug>>(stage: &Stage, input: W::Input) {
    let worker = stage
        .start(|worker| {
            let worker = worker.workflow::<W>().activity::<step>().activity::<third_time>();
            worker.activity::<reserve>().activity::<panics>().activity::<never>()
        })
        .await;
    let run = stage.durable.client().start::<W>("only", input).await.unwrap();
    stage.finish(&run).await;
    worker.shutdown().await;
}

async fn cancelled(stage: &Stage) {
    let worker = stage.start(|worker| worker.workflow::<cleans_up>().activity::<step>()).await;
    let run = stage.durable.client().start::<cleans_up>("only", ()).await.unwrap();
    stage.pause(Duration::from_secs(1)).await;
    run.cancel("enough").await.unwrap();
    stage.finish(&run).await;
    worker.shutdown().await;
}

/// Cancelled while it continues again and again: whichever run is asked, the last one sees it.
async fn cancelled_across_runs(stage: &Stage) {
    let worker = stage.start(|worker| worker.workflow::<forever>().activity::<step>()).await;
    let run = stage.durable.client().start::<forever>("only", 0).await.unwrap();
    stage.pause(Duration::from_millis(2500)).await;
    run.cancel("enough").await.unwrap();
    stage.finish(&run).await;
    worker.shutdown().await;
}

#[workflow]
async fn forever(ctx: &WorkflowContext, n: u32) -> Result<u32, WorkflowError> {
    ctx.sleep(Duration::from_secs(1)).await?;
    ctx.continue_as_new::<forever>(n + 1).await
}

async fn blocked_then_repaired(stage: &Stage) {
    let bad = stage
        .start(|worker| worker.workflow::<broken::panics_after_a_step>().activity::<step>().build_id("bad"))
        .await;
    let run = stage.durable.client().start::<repaired>("only", ()).await.unwrap();
    loop {
        let status = run.describe().await.unwrap().status;
        if status == Status::Blocked || !status.is_open() {
            break;
        }
        stage.pause(Duration::from_millis(200)).await;
    }
    bad.shutdown().await;
    let good = stage.start(|worker| worker.workflow::<repaired>().activity::<step>().build_id("good")).await;
    stage.finish(&run).await;
    good.shutdown().await;
}

/// Two workers, three runs, and nobody shuts down.
async fn crowd(stage: &Stage) {
    let build = |worker: durable_core::runtime::WorkerBuilder| {
        worker.workflow::<sequence>().workflow::<retries>().activity::<step>().activity::<third_time>()
    };
    let _one = stage.start(build).await;
    let _two = stage.start(|worker| build(worker).max_runs(1)).await;
    let client = stage.durable.client();
    let first = client.start::<sequence>("first", ()).await.unwrap();
    let second = client.start::<retries>("second", ()).await.unwrap();
    let third = client.start::<sequence>("third", ()).await.unwrap();
    stage.finish(&first).await;
    stage.finish(&second).await;
    stage.finish(&third).await;
}

/// Panics that are meant to be, hundreds of them, are not shown.
fn hide_planned_panics() {
    static HIDDEN: Once = Once::new();
    HIDDEN.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = panic.payload().downcast_ref::<String>();
            if !text.is_some_and(|text| text.contains("on purpose")) {
                shown(panic);
            }
        }));
    });
}

/// Schedules explored by this process so far.
static TOTAL: AtomicU64 = AtomicU64::new(0);

fn unchanged(name: &str, report: &Report) {
    let total = TOTAL.fetch_add(report.schedules, Ordering::Relaxed) + report.schedules;
    println!(
        "{name}: {} calls, {} schedules, {} crashes, {} differences; {total} schedules so far",
        report.calls,
        report.schedules,
        report.crashes,
        report.differences.len()
    );
    assert!(report.calls > 8 && report.schedules == 4 * report.calls, "{report:?}");
    assert_eq!(report.crashes, 2 * report.calls, "a crash did not happen");
    assert!(report.differences.is_empty(), "{:#?}", report.differences);
}

macro_rules! explored {
    ($($test:ident: $scenario:expr;)*) => {
        $(
            #[test]
            fn $test() {
                hide_planned_panics();
                unchanged(stringify!($test), &explore(backend::fresh, async |stage: &Stage| $scenario(stage).await));
            }
        )*
    };
}

explored! {
    a_workflow_without_a_step: async |stage| alone::<nothing>(stage, ()).await;
    a_sequence: async |stage| alone::<sequence>(stage, ()).await;
    a_join: async |stage| alone::<joined>(stage, ()).await;
    a_fan_out: async |stage| alone::<fan_out>(stage, ()).await;
    timers_beside_each_other: async |stage| alone::<timers>(stage, ()).await;
    attempts_made_again: async |stage| alone::<retries>(stage, ()).await;
    a_failure: async |stage| alone::<fails>(stage, 3).await;
    panics_of_an_activity: async |stage| alone::<survives_panics>(stage, ()).await;
    side_effects: async |stage| alone::<effects>(stage, ()).await;
    spawned_tasks: async |stage| alone::<spawned>(stage, ()).await;
    a_dropped_timer: async |stage| alone::<dropped>(stage, ()).await;
    a_cancelled_run: cancelled;
    a_panic_in_a_turn: blocked_then_repaired;
    two_workers_and_three_runs: crowd;
    runs_that_continue: async |stage| alone::<continues>(stage, (1, 0)).await;
    work_left_by_a_run_that_continues: async |stage| alone::<leaves_work>(stage, 0).await;
    a_cancel_request_across_runs: cancelled_across_runs;
    the_first_of_several: async |stage| alone::<selects>(stage, ()).await;
    few_at_a_time_until_a_condition_holds: async |stage| alone::<few_at_a_time>(stage, ()).await;
    versions_of_a_change: async |stage| alone::<versioned>(stage, ()).await;
    a_long_run: async |stage| alone::<long>(stage, ()).await;
}
