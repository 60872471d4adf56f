//! What one workload of one round has cost.

use std::time::Duration;

use serde::Serialize;

use crate::args::Work;

/// Counts and CPU time of one workload.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Counts {
    /// Write transactions of the database, whoever asked.
    pub(crate) commits: u64,
    /// Statement texts handed to the database; each is a hand-off to its thread and back.
    pub(crate) statements: u64,
    /// Calls that start runs.
    pub(crate) starts: u64,
    /// Calls that claim runs.
    pub(crate) claims: u64,
    /// Calls that write commits of owners.
    pub(crate) flushes: u64,
    pub(crate) turns: u64,
    pub(crate) history_bytes: u64,
    /// User and system.
    pub(crate) cpu: Duration,
}

impl Counts {
    /// What came after `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            commits: self.commits - before.commits,
            statements: self.statements - before.statements,
            starts: self.starts - before.starts,
            claims: self.claims - before.claims,
            flushes: self.flushes - before.flushes,
            turns: self.turns - before.turns,
            history_bytes: self.history_bytes - before.history_bytes,
            cpu: self.cpu.saturating_sub(before.cpu),
        }
    }
}

/// One workload, once.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) work: Work,
    /// Activities that ran.
    pub(crate) steps: u64,
    /// The whole workload.
    pub(crate) wall: Duration,
    /// What is compared with a bare commit: a step, of `W4` the median one; of `W3` the median run.
    pub(crate) unit: Duration,
    /// `W4`: the median step of its first and of its last ones.
    pub(crate) ends: Option<(Duration, Duration)>,
    pub(crate) counts: Counts,
    /// What was measured right before and right after.
    pub(crate) floor: Floor,
}

/// The database without durable execution.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Floor {
    /// One INSERT that commits by itself.
    pub(crate) commit: Duration,
    /// BEGIN IMMEDIATE, INSERT, COMMIT.
    pub(crate) transaction: Duration,
    /// One of 100 rows in a transaction.
    pub(crate) row: Duration,
    /// CPU time of a bare commit.
    pub(crate) commit_cpu: Duration,
}

impl Floor {
    /// The mean of several measurements.
    pub(crate) fn mean(floors: &[Self]) -> Self {
        let count = u64::try_from(floors.len()).unwrap_or(1);
        let of = |pick: fn(&Self) -> Duration| part(floors.iter().map(pick).sum(), count);
        Self {
            commit: of(|floor| floor.commit),
            transaction: of(|floor| floor.transaction),
            row: of(|floor| floor.row),
            commit_cpu: of(|floor| floor.commit_cpu),
        }
    }
}

/// Everything once.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) samples: Vec<Sample>,
    pub(crate) floor: Floor,
}

/// The middle one; of two middle ones the greater.
pub(crate) fn median<T: Copy + PartialOrd>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

/// A quotient for people; 0 where there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "a figure in a table")]
pub(crate) fn per(total: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { total as f64 / count as f64 }
}

/// How often `one` fits into `time`.
pub(crate) fn ratio(time: Duration, one: Duration) -> f64 {
    if one.is_zero() { 0.0 } else { time.as_secs_f64() / one.as_secs_f64() }
}

/// One of `count` equal parts.
pub(crate) fn part(time: Duration, count: u64) -> Duration {
    u32::try_from(count.max(1)).map_or(Duration::ZERO, |count| time / count)
}
