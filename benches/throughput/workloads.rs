//! The workloads, and what must be true of their counts however fast they ran.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use durable::prelude::*;
use durable_core::provider::Schema as _;
use durable_core::time::{Clock, SystemClock};
use durable_sqlite::{SqliteOptions, SqliteProvider};
use tokio::task::JoinSet;

use crate::args::Work;
use crate::counting::{Calls, Counting};
use crate::sample::{Counts, Floor, Sample, median, part};
use crate::{Bench, cpu};

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// `W1`: workflows, and activities of each.
    pub(crate) many: (u32, u32),
    /// `W2`: parallel activities.
    pub(crate) wide: u32,
    /// `W3`: runs.
    pub(crate) again: u32,
    /// `W4`: sequential activities.
    pub(crate) long: u32,
    /// `W4`: how many of them are its first and its last.
    pub(crate) ends: usize,
    pub(crate) floor_commits: u64,
    pub(crate) floor_batches: u64,
}

impl Sizes {
    pub(crate) const FULL: Self = Self {
        many: (200, 5),
        wide: 200,
        again: 50,
        long: 1000,
        ends: 100,
        floor_commits: 200,
        floor_batches: 20,
    };
    pub(crate) const SMOKE: Self =
        Self { many: (6, 2), wide: 8, again: 3, long: 12, ends: 4, floor_commits: 5, floor_batches: 2 };

    /// Activities of a workload.
    fn steps(&self, work: Work) -> u64 {
        u64::from(match work {
            Work::W1 => self.many.0 * self.many.1,
            Work::W2 => self.wide,
            Work::W3 => self.again,
            Work::W4 => self.long,
        })
    }
}

/// When each activity ran.
#[derive(Debug, Clone)]
struct Moments {
    clock: Arc<SystemClock>,
    seen: Arc<Mutex<Vec<Duration>>>,
}

impl Moments {
    fn seen(&self) -> std::sync::MutexGuard<'_, Vec<Duration>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[activity]
async fn step(ctx: &ActivityContext, number: u32) -> Result<u32, String> {
    let moments = ctx.state::<Moments>();
    moments.seen().push(moments.clock.elapsed());
    Ok(number)
}

#[workflow]
async fn sequence(ctx: &WorkflowContext, steps: u32) -> Result<u32, WorkflowError> {
    let mut last = 0;
    for number in 1..=steps {
        last = step(ctx, number).await?;
    }
    Ok(last)
}

#[workflow]
async fn fan_out(ctx: &WorkflowContext, steps: u32) -> Result<u32, WorkflowError> {
    let mut last = 0;
    for answer in durable::join_all((1..=steps).map(|number| step(ctx, number))).await {
        last = answer?;
    }
    Ok(last)
}

impl Bench {
    /// Runs a workload in a fresh database, after one run that opens connections and prepares statements.
    pub(crate) async fn workload(&self, work: Work, sizes: &Sizes, folder: &Path) -> Result<Sample> {
        let options = SqliteOptions::new(folder.join("bench.db")).log_statements(true);
        let provider = SqliteProvider::open(options).await?;
        provider.migrate().await?;
        let (provider, calls) = Counting::new(provider);
        let durable = Durable::with_provider(Arc::new(provider));
        let moments = Moments { clock: Arc::new(SystemClock::new()), seen: Arc::default() };
        let worker = durable.worker().state(moments.clone()).activity::<step>();
        let worker = worker.workflow::<sequence>().workflow::<fan_out>().start().await?;
        let client = durable.client();
        ensure!(client.start::<sequence>("warm-up", 2).await?.result().await? == 2, "the warm-up");
        moments.seen().clear();
        let (before, begun) = (self.counts(&calls), self.clock.elapsed());
        let each = match work {
            Work::W1 => many(&client, sizes.many).await?,
            Work::W2 => {
                ensure!(client.start::<fan_out>("wide", sizes.wide).await?.result().await? == sizes.wide);
                None
            }
            Work::W3 => self.again(&client, sizes.again).await?,
            Work::W4 => {
                ensure!(client.start::<sequence>("long", sizes.long).await?.result().await? == sizes.long);
                None
            }
        };
        let (wall, counts) = (self.since(begun), self.counts(&calls).since(&before));
        worker.shutdown().await;
        let seen = moments.seen().clone();
        let steps = u64::try_from(seen.len())?;
        let long = (work == Work::W4).then(|| gaps(&seen));
        let unit = each.or_else(|| median(long.clone()?)).unwrap_or_else(|| part(wall, steps));
        let ends = long.and_then(|gaps| ends(&gaps, sizes.ends));
        Ok(Sample { work, steps, wall, unit, ends, counts, floor: Floor::default() })
    }

    /// Starts one run after the other, each when the last has its result; the median of their times.
    async fn again(&self, client: &durable::Client, runs: u32) -> Result<Option<Duration>> {
        let mut times = Vec::new();
        for run in 0..runs {
            let begun = self.clock.elapsed();
            ensure!(client.start::<sequence>(format!("again-{run}"), 1).await?.result().await? == 1);
            times.push(self.since(begun));
        }
        Ok(median(times))
    }

    fn counts(&self, calls: &Calls) -> Counts {
        Counts {
            commits: self.statements.commits(),
            statements: self.statements.all(),
            starts: calls.starts.load(Relaxed),
            claims: calls.claims.load(Relaxed),
            flushes: calls.flushes.load(Relaxed),
            turns: calls.turns.load(Relaxed),
            history_bytes: calls.history_bytes.load(Relaxed),
            cpu: cpu::used(),
        }
    }
}

/// Starts all at once and waits for all.
async fn many(client: &durable::Client, (runs, steps): (u32, u32)) -> Result<Option<Duration>> {
    let mut waiting = JoinSet::new();
    for run in 0..runs {
        let client = client.clone();
        waiting.spawn(async move {
            let handle = client.start::<sequence>(format!("many-{run}"), steps).await?;
            ensure!(handle.result().await? == steps, "run {run}");
            Ok(())
        });
    }
    while let Some(done) = waiting.join_next().await {
        done??;
    }
    Ok(None)
}

/// From each step to the next.
fn gaps(seen: &[Duration]) -> Vec<Duration> {
    seen.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// The median of the first and of the last `count` steps: one slow write says nothing.
fn ends(gaps: &[Duration], count: usize) -> Option<(Duration, Duration)> {
    let first = median(gaps.get(..count)?.iter().copied())?;
    let last = median(gaps.get(gaps.len().checked_sub(count)?..)?.iter().copied())?;
    Some((first, last))
}

/// What holds however fast the machine is.
pub(crate) fn check(sample: &Sample, sizes: &Sizes) -> Result<()> {
    let Sample { work, steps, counts, .. } = sample;
    let wanted = sizes.steps(*work);
    ensure!(*steps == wanted, "{steps} activities ran, {wanted} were scheduled");
    let runs = match work {
        Work::W1 => u64::from(sizes.many.0),
        Work::W2 | Work::W4 => 1,
        Work::W3 => u64::from(sizes.again),
    };
    // A turn after each result and one before the first; results of a fan-out may share turns.
    let (least, most) = if *work == Work::W2 { (2, wanted + 1) } else { (wanted + runs, wanted + runs) };
    ensure!((least..=most).contains(&counts.turns), "{} turns, {least} to {most} are right", counts.turns);
    ensure!((1..=counts.turns).contains(&counts.flushes), "{} flushes", counts.flushes);
    ensure!((1..=runs).contains(&counts.starts), "{} calls started {runs} runs", counts.starts);
    // The call that shut the last run may be counted before its neighbours are.
    let written = counts.flushes + counts.starts;
    ensure!(counts.commits >= written, "{} commits for {written} calls that write", counts.commits);
    ensure!(counts.statements > 2 * counts.commits, "{} statements", counts.statements);
    ensure!(counts.history_bytes > 50 * steps, "{} bytes of history", counts.history_bytes);
    ensure!(sample.ends.is_some() == (*work == Work::W4), "the ends of {work:?}");
    Ok(())
}
