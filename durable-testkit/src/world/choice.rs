//! Which of several possible steps is taken.

use super::Step;
use crate::random::SplitMix;

/// Chooses steps.
pub(super) struct Choice {
    /// `None`: the oldest first.
    random: Option<SplitMix>,
}

impl Choice {
    pub(super) fn first() -> Self {
        Self { random: None }
    }

    pub(super) fn seeded(seed: u64) -> Self {
        Self { random: Some(SplitMix::new(seed)) }
    }

    /// A choice of the same kind.
    pub(super) fn again(&self, seed: u64) -> Self {
        Self { random: self.random.as_ref().map(|_| SplitMix::new(seed)) }
    }

    /// One of the waiting calls or jobs; time moves when there are none. A random choice lets time pass now
    /// and then while there are: slow databases and slow turns.
    pub(super) fn next(&mut self, calls: usize, jobs: usize) -> Step {
        let all = calls + jobs;
        if all == 0 {
            return Step::Time;
        }
        let n = match &mut self.random {
            None => 0,
            Some(random) => match random.below(64) {
                0 => return Step::Time,
                _ => random.below(all),
            },
        };
        if n < calls { Step::Call(n) } else { Step::Job(n - calls) }
    }
}
