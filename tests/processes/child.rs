//! What a child process runs: this test binary again, as a worker that may abort itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use durable::history::{EventKind, decode_batch};
use durable::id::{EventId, WorkflowId};
use durable::prelude::*;
use durable::provider::{HistoryRead, Inspect, Provider, Schema, Status};
use durable_core::time::{Clock, SystemClock};
use durable_sqlite::{SqliteOptions, SqliteProvider};

pub(crate) const DATABASE: &str = "DURABLE_TEST_DATABASE";
pub(crate) const EFFECTS: &str = "DURABLE_TEST_EFFECTS";
/// The workflow ids whose ends it waits for, separated by spaces.
pub(crate) const UNTIL: &str = "DURABLE_TEST_UNTIL";
/// What `--exact` finds this by.
pub(crate) const NAME: &str = "child::child_process";

/// Longest life of a child: one that hangs fails the test instead of hanging it.
const LIFE_MAX: Duration = Duration::from_mins(1);

/// Appends a line that stays when the process dies in the next instant.
fn note(line: &str) {
    let path = std::env::var_os(EFFECTS).expect("the supervisor names the file");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    file.sync_all().unwrap();
}

fn note_attempt(ctx: &ActivityContext, activity: &str) {
    note(&format!("{} {} {activity} {}", ctx.workflow_id(), ctx.activity_id(), ctx.attempt()));
}

/// The database, for an activity that looks at its own history.
struct Database {
    provider: Arc<SqliteProvider>,
    clock: SystemClock,
}

impl Database {
    async fn pause(&self) {
        self.clock.sleep_until(self.clock.elapsed() + Duration::from_millis(2)).await;
    }

    /// Waits until the run has recorded so many results.
    async fn until_recorded(&self, ctx: &ActivityContext, results: usize) {
        let read = HistoryRead { run_id: ctx.run_id(), from: EventId::FIRST, max_bytes: usize::MAX };
        loop {
            let page = self.provider.history_read(read).await.unwrap();
            let events = page.rows.iter().flat_map(|row| decode_batch(row).unwrap());
            let done = events.filter(|event| matches!(event.kind, EventKind::ActivityTaskCompleted { .. }));
            if done.count() >= results {
                return;
            }
            self.pause().await;
        }
    }

    /// Waits until these are closed or given up.
    async fn until_ended(&self, ids: &str) {
        for id in ids.split(' ') {
            let id = WorkflowId::new(id).unwrap();
            loop {
                let view = self.provider.instance_find(&id).await.unwrap().unwrap();
                if !view.status.is_open() || view.status == Status::DeadLettered {
                    break;
                }
                self.pause().await;
            }
        }
    }
}

/// Aborts its process, the first two times not before its sibling has got one step further.
#[activity(retry(max_attempts = 3, initial = "1ms"))]
async fn abort_thrice(ctx: &ActivityContext) -> Result<(), String> {
    note_attempt(ctx, "abort");
    if ctx.attempt() <= 2 {
        ctx.state::<Database>().until_recorded(ctx, ctx.attempt() as usize).await;
    }
    std::process::abort();
}

/// Aborts its process; its policy alone would allow that for ever.
#[activity(retry(initial = "1ms", max = "2ms"))]
async fn abort_always(ctx: &ActivityContext) -> Result<(), String> {
    note_attempt(ctx, "abort");
    std::process::abort();
}

#[activity(retry(initial = "1ms"))]
async fn step(ctx: &ActivityContext, number: u32) -> Result<u32, String> {
    note_attempt(ctx, "step");
    Ok(number)
}

/// Fails at first, so that it is a durable row, and gives up soon.
#[activity(retry(max_attempts = 4, initial = "1ms"))]
async fn frail(ctx: &ActivityContext) -> Result<u32, String> {
    note_attempt(ctx, "frail");
    if ctx.attempt() == 1 { Err("not yet".to_owned()) } else { Ok(ctx.attempt()) }
}

#[durable::helper]
async fn walk(ctx: &WorkflowContext, steps: u32) -> Result<u32, WorkflowError> {
    let mut total = 0;
    for number in 1..=steps {
        total += step(ctx, number).await?;
    }
    Ok(total)
}

/// The text of a `Lost`; any other end is an error.
fn lost(result: Result<(), ActivityError<String>>) -> Result<String, WorkflowError> {
    match result {
        Err(error) if error.kind == ActivityErrorKind::Lost => Ok(error.to_string()),
        Err(error) => Err(error.into()),
        Ok(()) => Ok("it came back".to_owned()),
    }
}

/// An activity that aborts the process beside a sibling that makes progress.
#[workflow]
pub(crate) async fn pair(ctx: &WorkflowContext, steps: u32) -> Result<(String, u32), WorkflowError> {
    let (aborted, total) = durable::join!(abort_thrice(ctx), walk(ctx, steps));
    Ok((lost(aborted)?, total?))
}

#[workflow]
pub(crate) async fn endless(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
    lost(abort_always(ctx).await)
}

#[workflow]
pub(crate) async fn walker(ctx: &WorkflowContext, steps: u32) -> Result<u32, WorkflowError> {
    walk(ctx, steps).await
}

#[workflow]
pub(crate) async fn brittle(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(frail(ctx).await?)
}

/// Its first turn takes the process down.
#[workflow]
pub(crate) async fn poison(_ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    take_down();
    Ok(())
}

fn take_down() {
    note("poison 0 turn 0");
    std::process::abort();
}

pub(crate) async fn open(path: &Path) -> Arc<SqliteProvider> {
    let provider = SqliteProvider::open(SqliteOptions::new(path)).await.unwrap();
    provider.migrate().await.unwrap();
    Arc::new(provider)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the other tests, as a process of its own"]
async fn child_process() {
    let Some(path) = std::env::var_os(DATABASE) else { return };
    let provider = open(Path::new(&path)).await;
    let durable = Durable::with_provider(Arc::<SqliteProvider>::clone(&provider) as Arc<dyn Provider>);
    let worker = durable.worker().slot("the-one").build_id("one").workflow::<pair>().workflow::<endless>();
    let worker = worker.workflow::<walker>().workflow::<brittle>().workflow::<poison>();
    let worker = worker.activity::<abort_thrice>().activity::<abort_always>();
    let worker = worker.activity::<step>().activity::<frail>();
    let worker =
        worker.state(Database { provider: Arc::clone(&provider), clock: SystemClock::new() }).start();
    let worker = worker.await.unwrap();
    let database = Database { provider, clock: SystemClock::new() };
    let until = std::env::var(UNTIL).unwrap();
    tokio::select! {
        () = database.until_ended(&until) => {}
        () = database.clock.sleep_until(LIFE_MAX) => panic!("still open after {LIFE_MAX:?}"),
    }
    worker.shutdown().await;
}
