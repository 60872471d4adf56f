//! Golden histories: one recorded run per feature, replayed for ever.
//!
//! A file in `tests/histories/` is never edited: the form of stored histories is a promise. A new feature gets a new
//! workflow here and a file of its own, which `cargo test --test it -- --ignored record` writes.

use std::path::PathBuf;
use std::time::Duration;

use durable::history::EventKind;
use durable::prelude::*;
use durable::replay::{Replayer, RunExport, Verdict};
use durable_core::runtime::Durable as CoreDurable;
use durable_core::time::Clock as _;
use durable_testkit::{MemoryProvider, World};

#[activity]
async fn upper(_ctx: &ActivityContext, text: String) -> Result<String, String> {
    Ok(text.to_uppercase())
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
enum StockError {
    #[error("{missing} of {wanted} are missing")]
    Short { wanted: u32, missing: u32 },
}

impl RetryAdvice for StockError {
    fn retryable(&self) -> bool {
        false
    }
}

#[activity]
async fn reserve(_ctx: &ActivityContext, wanted: u32) -> Result<u32, StockError> {
    if wanted > 3 { Err(StockError::Short { wanted, missing: wanted - 3 }) } else { Ok(wanted) }
}

#[activity(retry(initial = "10ms", max_attempts = 3))]
async fn third_time(ctx: &ActivityContext) -> Result<u32, String> {
    if ctx.attempt() < 3 { Err(format!("attempt {}", ctx.attempt())) } else { Ok(ctx.attempt()) }
}

#[activity(start_to_close = "20ms", retry(max_attempts = 1))]
async fn never(_ctx: &ActivityContext) -> Result<u32, String> {
    std::future::pending().await
}

#[workflow(name = "golden.sequence")]
async fn sequence(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
    let mut all = Vec::new();
    for n in 1..=count {
        all.push(upper(ctx, format!("s{n}")).await?);
    }
    Ok(all)
}

#[workflow(name = "golden.parallel")]
async fn parallel(ctx: &WorkflowContext) -> Result<Vec<String>, WorkflowError> {
    let block = async {
        let first = upper(ctx, "block".to_owned()).await?;
        upper(ctx, first + "!").await
    };
    let (one, two) = durable::join!(block, upper(ctx, "b".to_owned()));
    let mut all = vec![one?, two?];
    for done in durable::join_all(["c", "d", "e"].map(|text| upper(ctx, text.to_owned()))).await {
        all.push(done?);
    }
    let (three, four) = durable::try_join!(upper(ctx, "f".to_owned()), upper(ctx, "g".to_owned()))?;
    all.extend([three, four]);
    for done in durable::map_concurrent(0..4, 2, |n| upper(ctx, format!("m{n}"))).await {
        all.push(done?);
    }
    Ok(all)
}

#[workflow(name = "golden.side_effects")]
async fn side_effects(ctx: &WorkflowContext) -> Result<(u32, bool), WorkflowError> {
    let picked = ctx.side_effect("pick", || 41)?;
    let drawn = (ctx.random(), ctx.uuid());
    upper(ctx, format!("{picked}")).await?;
    let refused: Result<String, _> = ctx.side_effect("too large", || "x".repeat(3 * 1024 * 1024));
    Ok((picked + 1, refused.is_err() && drawn != (ctx.random(), ctx.uuid())))
}

#[workflow(name = "golden.versioned")]
async fn versioned(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
    ctx.deprecate_version("gone soon", 2);
    if ctx.version("use-b", 0..=1) == 0 {
        upper(ctx, "a".to_owned()).await?;
    }
    Ok(upper(ctx, "b".to_owned()).await?)
}

/// Results come in another order than they were asked for.
#[workflow(name = "golden.reorder")]
async fn reorder(ctx: &WorkflowContext) -> Result<Vec<u32>, WorkflowError> {
    let mut order = Vec::new();
    let mut slow = Box::pin(ctx.timeout(Duration::from_secs(9), ctx.sleep(Duration::from_secs(3))));
    for n in 0..3 {
        durable::select! {
            slept = ctx.sleep(Duration::from_secs(2 - u64::from(n))) => {
                slept?;
                order.push(n);
            }
            waited = &mut slow => {
                waited??;
                order.push(100);
            }
        }
    }
    Ok(order)
}

#[workflow(name = "golden.clock")]
async fn clock(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
    let begin = ctx.now();
    ctx.sleep(Duration::ZERO).await?;
    ctx.sleep(Duration::from_hours(1)).await?;
    Ok(ctx.now().since(begin).as_secs())
}

#[workflow(name = "golden.counter")]
async fn counter(ctx: &WorkflowContext, n: u32, until: u32) -> Result<u32, WorkflowError> {
    upper(ctx, format!("{n}")).await?;
    ctx.spawn(ctx.sleep(Duration::from_hours(9))).detach();
    if n < until {
        return ctx.continue_as_new::<counter>((n + 1, until)).await;
    }
    Ok(n)
}

#[workflow(name = "golden.failures")]
async fn failures(ctx: &WorkflowContext) -> Result<u32, ActivityError<StockError>> {
    let retried = third_time(ctx).await.unwrap_or(0);
    let late = never(ctx).await.is_err();
    assert_eq!((retried, late), (3, true));
    reserve(ctx, 2).await?;
    reserve(ctx, 5).await
}

#[workflow(name = "golden.canceled")]
async fn canceled(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let waited = durable::join!(ctx.sleep(Duration::from_hours(1)), ctx.wait_until(|| false)).0;
    if let Err(cancelled) = waited {
        ctx.shield(async { upper(ctx, "clean-up".to_owned()).await }).await?;
        return Err(cancelled.into());
    }
    Ok(())
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories/v1")
}

/// How the run of each file ends.
const ENDS: [(&str, &str); 10] = [
    ("sequence", r#"completed ["S1","S2","S3"]"#),
    ("parallel", r#"completed ["BLOCK!","B","C","D","E","F","G","M0","M1","M2","M3"]"#),
    ("side_effects", "completed [42,true]"),
    ("versioned", r#"completed "B""#),
    ("reorder", "completed [0,100,2]"),
    ("clock", "completed 3600"),
    ("counter-1", "continued as new"),
    ("counter-2", "completed 2"),
    ("failures", "failed activity `reserve` failed: 2 of 5 are missing"),
    ("canceled", "canceled the workflow was asked to cancel"),
];

fn end(run: &RunExport) -> String {
    match &run.events.last().unwrap().kind {
        EventKind::WorkflowExecutionCompleted { result, .. } => {
            format!("completed {}", String::from_utf8_lossy(&result.bytes))
        }
        EventKind::WorkflowExecutionFailed { failure } => format!("failed {}", failure.message),
        EventKind::WorkflowExecutionCanceled { failure } => format!("canceled {}", failure.message),
        EventKind::WorkflowExecutionContinuedAsNew { .. } => "continued as new".to_owned(),
        other => panic!("{} does not end a run", other.name()),
    }
}

#[test]
fn every_golden_history_replays_strictly_with_its_recorded_result() {
    durable::assert_replays!(
        "tests/histories/v1/*.json",
        [sequence, parallel, side_effects, versioned, reorder, clock, counter, failures, canceled]
    );
    let files = std::fs::read_dir(folder()).unwrap().count();
    assert_eq!(files, ENDS.len(), "each file has its end in the list, and each end its file");
    for (name, expected) in ENDS {
        let run = RunExport::read(folder().join(format!("{name}.json"))).unwrap();
        assert_eq!(end(&run), expected, "{name}");
    }
}

#[test]
fn a_golden_history_of_other_code_is_told_apart() {
    #[workflow(name = "golden.sequence")]
    async fn other(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
        Ok(vec![upper(ctx, format!("t{count}")).await?])
    }
    let run = RunExport::read(folder().join("sequence.json")).unwrap();
    assert!(matches!(Replayer::new().workflow::<other>().replay(&run), Verdict::Blocked(_)));
    assert_eq!(Replayer::new().workflow::<clock>().replay(&run), Verdict::UnknownType);
}

/// Writes the files that are missing, through a real worker.
#[test]
#[ignore = "records histories that are kept for ever; run it once for a new feature"]
fn record() {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(world.clone().drive(async {
        let durable = world.process(MemoryProvider::default());
        let worker =
            durable.worker().workflow::<sequence>().workflow::<parallel>().workflow::<side_effects>();
        let worker = worker.workflow::<versioned>().workflow::<reorder>().workflow::<clock>();
        let worker = worker.workflow::<counter>().workflow::<failures>().workflow::<canceled>();
        let worker = worker.activity::<upper>().activity::<reserve>().activity::<third_time>();
        let worker = worker.activity::<never>().build_id("golden").start().await.unwrap();
        record_one::<sequence>(&durable, "sequence", 3).await;
        record_one::<parallel>(&durable, "parallel", ()).await;
        record_one::<side_effects>(&durable, "side_effects", ()).await;
        record_one::<versioned>(&durable, "versioned", ()).await;
        record_one::<reorder>(&durable, "reorder", ()).await;
        record_one::<clock>(&durable, "clock", ()).await;
        record_one::<failures>(&durable, "failures", ()).await;
        let run = durable.client().start::<counter>("counter", (1, 2)).await.unwrap();
        run.result().await.unwrap();
        write(&durable.client().export_run(run.run_id()).await.unwrap(), "counter-1");
        write(&durable.client().export("counter").await.unwrap(), "counter-2");
        let run = durable.client().start::<canceled>("canceled", ()).await.unwrap();
        let clock = world.clock();
        clock.sleep_until(clock.elapsed() + Duration::from_secs(1)).await;
        run.cancel("enough").await.unwrap();
        run.result().await.unwrap_err();
        write(&durable.client().export("canceled").await.unwrap(), "canceled");
        worker.shutdown().await;
    }));
}

async fn record_one<W: Workflow>(durable: &CoreDurable, name: &str, input: W::Input) {
    let run = durable.client().start::<W>(name, input).await.unwrap();
    // How it ends is in its history.
    let _ended = run.result().await;
    write(&durable.client().export(name).await.unwrap(), name);
}

fn write(run: &RunExport, name: &str) {
    let path = folder().join(format!("{name}.json"));
    if path.exists() {
        return println!("{name} is there");
    }
    run.write(&path).unwrap();
    println!("{name}: {}", end(run));
}
