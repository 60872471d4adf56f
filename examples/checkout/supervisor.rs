//! The supervisor: starts the worker process, shows how far it is, kills it at random moments with activities in
//! flight, and starts it again. What it knows of the worker's doings it reads in the attempt logs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use crate::attempts::{self, Attempt};
use crate::data::DataDir;
use crate::dice::Dice;

const POLL: Duration = Duration::from_millis(5);
/// No attempt begins or ends for so long: something is stuck, and waiting on would hide it.
const STALLED: Duration = Duration::from_mins(1);

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) data: &'a DataDir,
    pub(crate) seed: u64,
    pub(crate) kills: u32,
    /// Activities that all orders need together.
    pub(crate) steps: usize,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) kills: u32,
    pub(crate) kills_wanted: u32,
    /// Whether anything was left to do when the command began.
    pub(crate) had_work: bool,
    pub(crate) time: Duration,
}

/// Runs the worker until it has done everything, with the kills on the way.
pub(crate) fn run(job: &Job<'_>) -> Result<Course> {
    let began = now();
    let mut progress = Progress::begin(job)?;
    let had_work = progress.done() < job.steps;
    let points = kill_points(job, progress.done());
    let mut kills = 0;
    loop {
        let mut life = Life::begin(job)?;
        match life.live_until(points.get(kills as usize).copied(), &mut progress)? {
            End::Finished => break,
            End::Killed { in_flight: 0, .. } => {
                progress.say("a kill met no activity in flight: it does not count and is repeated");
            }
            End::Killed { in_flight, names } => {
                kills += 1;
                let noun = if in_flight == 1 { "activity" } else { "activities" };
                let (done, all) = (progress.done(), job.steps);
                progress.say(&format!(
                    "kill {kills} of {} after {done} of {all} steps: {in_flight} {noun} in flight ({names})",
                    job.kills
                ));
            }
        }
    }
    progress.bar.finish_and_clear();
    Ok(Course { kills, kills_wanted: job.kills, had_work, time: began.elapsed() })
}

/// After how many steps each kill is due: one at random in each of `kills` equal parts of what is left to do, the
/// last tenth spared so that the last kill still finds work.
fn kill_points(job: &Job<'_>, done: usize) -> Vec<usize> {
    let mut dice = Dice::about(job.seed, "kills");
    let left = job.steps.saturating_sub(done) as u64 * 9 / 10;
    let kills = u64::from(job.kills);
    (0..kills)
        .map(|i| {
            let (from, to) = (left * i / kills, left * (i + 1) / kills);
            done + usize::try_from(from + dice.below(to - from)).unwrap_or(usize::MAX)
        })
        .collect()
}

/// How a worker process ended.
enum End {
    Finished,
    Killed { in_flight: usize, names: String },
}

/// One worker process, from its start to its end.
struct Life<'a> {
    dir: &'a Path,
    child: Child,
    earlier_logs: Vec<PathBuf>,
}

impl<'a> Life<'a> {
    fn begin(job: &Job<'a>) -> Result<Self> {
        let dir = job.data.path();
        let earlier_logs = attempts::files(dir)?;
        // The pipe is the worker's hold on us: see `worker::exit_with_parent`.
        let child = Command::new(std::env::current_exe()?)
            .arg("worker")
            .arg("--data")
            .arg(dir)
            .arg("--seed")
            .arg(job.seed.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot start the worker process")?;
        Ok(Self { dir, child, earlier_logs })
    }

    /// Watches until the worker leaves, or kills it once `kill_at` steps are done and an activity is in flight.
    fn live_until(&mut self, kill_at: Option<usize>, progress: &mut Progress) -> Result<End> {
        let mut moved = (now(), 0);
        loop {
            let status = self.child.try_wait()?;
            let attempts = self.attempts()?;
            progress.advance(&attempts);
            match status {
                Some(status) if status.success() => return Ok(End::Finished),
                Some(status) => bail!("the worker ended by itself with {status}"),
                None => {}
            }
            if kill_at.is_some_and(|point| progress.done() >= point) && attempts::in_flight(&attempts).0 > 0 {
                return self.kill(progress);
            }
            let ends = attempts.len() + attempts.iter().filter(|a| a.end.is_some()).count();
            if ends != moved.1 {
                moved = (now(), ends);
            } else if moved.0.elapsed() > STALLED {
                self.child.kill()?;
                bail!("stalled: no activity began or ended for {} s", STALLED.as_secs());
            }
            pause();
        }
    }

    /// SIGKILL. What was in flight is counted only now that nothing can change any more.
    fn kill(&mut self, progress: &mut Progress) -> Result<End> {
        self.child.kill()?;
        let status = self.child.wait()?;
        let attempts = self.attempts()?;
        progress.advance(&attempts);
        if status.success() {
            return Ok(End::Finished);
        }
        let (in_flight, names) = attempts::in_flight(&attempts);
        Ok(End::Killed { in_flight, names })
    }

    fn attempts(&self) -> Result<Vec<Attempt>> {
        Ok(match attempts::new_file(self.dir, &self.earlier_logs)? {
            Some(log) => attempts::read(&log)?,
            None => Vec::new(),
        })
    }
}

/// How far all worker processes together have come: activities that have their answer.
struct Progress {
    bar: ProgressBar,
    done: BTreeSet<String>,
    steps: usize,
    percent: usize,
}

impl Progress {
    fn begin(job: &Job<'_>) -> Result<Self> {
        let style = ProgressStyle::with_template("{bar:40.green} {pos}/{len} steps  {elapsed}")?;
        let bar = ProgressBar::new(job.steps as u64).with_style(style);
        let mut progress = Self { bar, done: BTreeSet::new(), steps: job.steps, percent: 0 };
        let mut earlier = Vec::new();
        for log in attempts::files(job.data.path())? {
            earlier.extend(attempts::read(&log)?);
        }
        progress.advance(&earlier);
        Ok(progress)
    }

    fn done(&self) -> usize {
        self.done.len()
    }

    fn advance(&mut self, attempts: &[Attempt]) {
        for key in attempts::settled(attempts) {
            if !self.done.contains(key) {
                self.done.insert(key.to_owned());
            }
        }
        self.bar.set_position(self.done() as u64);
        let percent = self.done() * 100 / self.steps.max(1);
        // Where no bar can be drawn, lines say it.
        if self.bar.is_hidden() && percent > self.percent {
            println!("progress {} of {} steps", self.done(), self.steps);
        }
        self.percent = percent;
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| println!("{line}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "outside any workflow: a stopwatch for the report")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "watches another process, which sends no event")]
fn pause() {
    std::thread::sleep(POLL);
}
