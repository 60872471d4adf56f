//! Time: points as integer microseconds since the Unix epoch, and the one `Clock` of the product.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This point plus `duration`; stops at the largest representable point.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// From `earlier` to this point; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.div_euclid(86_400_000_000), self.0.rem_euclid(86_400_000_000));
        let (year, month, day) = civil(days);
        let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
    }
}

/// Days since the epoch as year, month, day (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// A duration in whole microseconds; stops at the largest representable one.
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// A future that a [`Clock`] returns.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The only source of time in the runtime. Tests put a virtual one in its place.
///
/// It is monotonic, not a wall clock: due times and leases are decided by the database's clock
/// (guarantee G7), which every claim, commit and renewal returns.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Time since an arbitrary fixed point; never goes back.
    fn elapsed(&self) -> Duration;

    /// Completes when [`Clock::elapsed`] has reached `at`.
    fn sleep_until(&self, at: Duration) -> Sleep;

    /// What statements use instead of the database's clock; `None` outside tests.
    fn database_override(&self) -> Option<Timestamp> {
        None
    }
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    /// A clock that starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "this is the Clock")]
    pub fn new() -> Self {
        Self { start: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the Clock")]
    fn sleep_until(&self, at: Duration) -> Sleep {
        // tokio wakes timers beyond about two years early by its own cap; slices keep any length right.
        const SLICE: Duration = Duration::from_hours(24);
        let start = self.start;
        Box::pin(async move {
            loop {
                let left = at.saturating_sub(start.elapsed());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(SLICE)).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_as_rfc_3339_and_saturate() {
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::from_micros(951_782_400_000_001).to_string(), "2000-02-29T00:00:00.000001Z");
        assert_eq!(Timestamp::from_micros(-1).to_string(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(Timestamp::from_micros(5).plus(Duration::MAX).as_micros(), i64::MAX);
        assert_eq!(Timestamp::from_micros(5).since(Timestamp::from_micros(9)), Duration::ZERO);
    }
}
