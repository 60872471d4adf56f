//! Clocks of processes that run wrong.

use std::time::Duration;

use durable_core::time::{Clock, Sleep};

use crate::VirtualClock;

/// How a process's clock differs from the database's. Providers of the world are asked for the database's
/// time, so a skewed clock may change when things are tried, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skew {
    /// It shows this much more.
    pub ahead: Duration,
    /// While the database's clock takes a thousand steps it takes so many; 0 counts as 1.
    pub per_thousand: u32,
}

impl Default for Skew {
    fn default() -> Self {
        Self { ahead: Duration::ZERO, per_thousand: 1000 }
    }
}

/// A clock of a process; it does not say what time statements should use.
#[derive(Debug)]
pub(super) struct SkewedClock {
    pub(super) clock: VirtualClock,
    pub(super) skew: Skew,
}

impl Clock for SkewedClock {
    fn elapsed(&self) -> Duration {
        let true_elapsed = self.clock.elapsed();
        self.skew.ahead + true_elapsed * self.skew.per_thousand.max(1) / 1000
    }

    fn sleep_until(&self, at: Duration) -> Sleep {
        let own = at.saturating_sub(self.skew.ahead);
        // Rounded up: a sleep must not end before its time.
        let until = (own.saturating_mul(1000) / self.skew.per_thousand.max(1))
            .saturating_add(Duration::from_micros(1));
        self.clock.sleep_until(until)
    }
}
