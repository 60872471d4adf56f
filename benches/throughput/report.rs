//! Medians over the rounds, and the goals that they are held against.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::args::{Args, Work};
use crate::files;
use crate::sample::{Counts, Round, Sample, median, part, per, ratio};

/// Everything that is printed or written.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) floor: FloorLine,
    pub(crate) lines: Vec<Line>,
    pub(crate) ratios: Vec<Ratio>,
}

/// The floor.
#[derive(Debug, Serialize)]
pub(crate) struct FloorLine {
    pub(crate) commits_per_second: f64,
    pub(crate) transactions_per_second: f64,
    pub(crate) rows_per_second: f64,
    pub(crate) commit_cpu: Duration,
}

/// One workload.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) work: Work,
    pub(crate) what: &'static str,
    pub(crate) steps: u64,
    pub(crate) wall: Duration,
    pub(crate) unit: Duration,
    pub(crate) counts: Counts,
    pub(crate) cpu_per_step: Duration,
}

/// One result: a ratio within a round, its median and its range over the rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) what: &'static str,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) goal: Option<Goal>,
}

/// What a ratio should be.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Ratio {
    /// Whether the median reaches the goal.
    pub(crate) fn holds(&self) -> Option<bool> {
        self.goal.map(|goal| match goal {
            Goal::AtMost(limit) => self.median <= limit,
            Goal::AtLeast(limit) => self.median >= limit,
        })
    }
}

impl Report {
    pub(crate) fn of(rounds: &[Round], args: &Args) -> Result<Self> {
        let lines = args.works().iter().map(|&work| line(rounds, work)).collect::<Option<_>>();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        Ok(Self {
            machine: format!(
                "{} {}, {cores} cores, {}, {profile} build",
                std::env::consts::OS,
                std::env::consts::ARCH,
                files::file_system(&args.dir)
            ),
            rounds: rounds.len(),
            floor: floor(rounds).context("no round")?,
            lines: lines.context("no round")?,
            ratios: ratios(rounds),
        })
    }
}

fn floor(rounds: &[Round]) -> Option<FloorLine> {
    let of = |pick: fn(&Round) -> Duration| median(rounds.iter().map(pick));
    let per_second = |time: Duration| ratio(Duration::from_secs(1), time);
    Some(FloorLine {
        commits_per_second: per_second(of(|round| round.floor.commit)?),
        transactions_per_second: per_second(of(|round| round.floor.transaction)?),
        rows_per_second: per_second(of(|round| round.floor.row)?),
        commit_cpu: of(|round| round.floor.commit_cpu)?,
    })
}

fn sample(round: &Round, work: Work) -> Option<&Sample> {
    round.samples.iter().find(|sample| sample.work == work)
}

fn line(rounds: &[Round], work: Work) -> Option<Line> {
    let samples: Vec<&Sample> = rounds.iter().filter_map(|round| sample(round, work)).collect();
    let count = |pick: fn(&Counts) -> u64| median(samples.iter().map(|sample| pick(&sample.counts)));
    let steps = samples.first()?.steps;
    let cpu = median(samples.iter().map(|sample| sample.counts.cpu))?;
    Some(Line {
        work,
        what: match work {
            Work::W1 => "200 workflows of 5 sequential activities, started at once",
            Work::W2 => "1 workflow of 200 parallel activities",
            Work::W3 => "1 activity, from start to result, 50 times",
            Work::W4 => "1 workflow of 1,000 sequential activities",
        },
        steps,
        wall: median(samples.iter().map(|sample| sample.wall))?,
        unit: median(samples.iter().map(|sample| sample.unit))?,
        counts: Counts {
            commits: count(|counts| counts.commits)?,
            statements: count(|counts| counts.statements)?,
            starts: count(|counts| counts.starts)?,
            claims: count(|counts| counts.claims)?,
            flushes: count(|counts| counts.flushes)?,
            turns: count(|counts| counts.turns)?,
            history_bytes: count(|counts| counts.history_bytes)?,
            cpu,
        },
        cpu_per_step: part(cpu, steps),
    })
}

fn ratios(rounds: &[Round]) -> Vec<Ratio> {
    type Figure = fn(&Round) -> Option<f64>;
    let wanted: [(&'static str, Option<Goal>, Figure); 8] = [
        ("W1 turns per commit", Some(Goal::AtLeast(8.0)), |round| {
            let counts = sample(round, Work::W1)?.counts;
            Some(per(counts.turns, counts.commits))
        }),
        ("W1 per step, in bare commits", None, |round| in_commits(round, Work::W1)),
        ("W1 per step, in bare rows of 100 a commit", None, |round| {
            let sample = sample(round, Work::W1)?;
            Some(ratio(sample.unit, sample.floor.row))
        }),
        ("W2 per step, in bare commits", None, |round| in_commits(round, Work::W2)),
        ("W3, in bare commits", Some(Goal::AtMost(4.0)), |round| in_commits(round, Work::W3)),
        ("W4 per step, in bare commits", Some(Goal::AtMost(2.0)), |round| in_commits(round, Work::W4)),
        ("W4 per step, in bare transactions", None, |round| {
            let sample = sample(round, Work::W4)?;
            Some(ratio(sample.unit, sample.floor.transaction))
        }),
        ("W4 last 100 / first 100", Some(Goal::AtMost(1.2)), |round| {
            let (first, last) = sample(round, Work::W4)?.ends?;
            Some(ratio(last, first))
        }),
    ];
    let made = wanted.into_iter().filter_map(|(what, goal, figure)| {
        let values: Vec<f64> = rounds.iter().filter_map(figure).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Ratio { what, median: median(values)?, least, most, goal })
    });
    made.collect()
}

fn in_commits(round: &Round, work: Work) -> Option<f64> {
    let sample = sample(round, work)?;
    Some(ratio(sample.unit, sample.floor.commit))
}
