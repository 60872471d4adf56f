//! What durable execution costs on this machine, as ratios to what the same database does without it.
//!
//! `cargo xtask bench` builds and runs it; `docs/performance.md` says how to read the table. Workloads and the
//! floor take turns, round by round, so that a machine that is slow for a while is slow for all of them.

#![expect(clippy::print_stdout, reason = "the table is what it makes")]

mod args;
mod counting;
mod cpu;
mod files;
mod floor;
mod report;
mod sample;
mod statements;
mod table;
mod workloads;

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use durable_core::time::{Clock as _, SystemClock};

use crate::args::{Args, Work};
use crate::report::Report;
use crate::sample::{Floor, Round, Sample};
use crate::workloads::Sizes;

fn main() -> Result<()> {
    let args = Args::parse();
    let statements = statements::count().context("statements cannot be counted")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let bench = Bench { clock: SystemClock::new(), statements };
    let rounds = runtime.block_on(bench.rounds(&args))?;
    if args.smoke {
        println!("bench smoke: {} workloads and the floor ran, their counts are right", args.works().len());
        return Ok(());
    }
    let report = Report::of(&rounds, &args)?;
    print!("{}", table::text(&report));
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// What every measurement needs.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) clock: SystemClock,
    pub(crate) statements: statements::Statements,
}

impl Bench {
    async fn rounds(&self, args: &Args) -> Result<Vec<Round>> {
        let sizes = if args.smoke { Sizes::SMOKE } else { Sizes::FULL };
        let count = if args.smoke { 1 } else { args.rounds };
        let mut rounds = Vec::new();
        for number in 1..=count {
            eprintln!("round {number} of {count}");
            rounds.push(self.round(args, &sizes).await.with_context(|| format!("round {number}"))?);
        }
        Ok(rounds)
    }

    /// The floor is measured before and after each workload: a machine that is slow for a while is slow for both.
    async fn round(&self, args: &Args, sizes: &Sizes) -> Result<Round> {
        let mut floors = vec![self.floor_under(args, sizes).await?];
        let mut samples = Vec::new();
        for &work in args.works() {
            let database = files::fresh(&args.dir)?;
            let sample = self.run(work, sizes, database.path()).await.with_context(|| format!("{work:?}"))?;
            let before = floors.last().copied();
            let after = self.floor_under(args, sizes).await?;
            floors.push(after);
            let floor = Floor::mean(&before.into_iter().chain([after]).collect::<Vec<_>>());
            samples.push(Sample { floor, ..sample });
        }
        Ok(Round { samples, floor: Floor::mean(&floors) })
    }

    async fn floor_under(&self, args: &Args, sizes: &Sizes) -> Result<Floor> {
        let database = files::fresh(&args.dir)?;
        self.floor(sizes, database.path()).await.context("the floor")
    }

    /// The time since the clock stood at `begun`.
    pub(crate) fn since(&self, begun: Duration) -> Duration {
        self.clock.elapsed().saturating_sub(begun)
    }

    async fn run(&self, work: Work, sizes: &Sizes, folder: &std::path::Path) -> Result<Sample> {
        let sample = self.workload(work, sizes, folder).await?;
        workloads::check(&sample, sizes)?;
        Ok(sample)
    }
}
