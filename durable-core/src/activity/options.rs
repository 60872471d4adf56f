//! Options as the attribute hands them over: already checked when the macro was expanded.

use std::time::Duration;

use crate::history::ActivityOptions;
use crate::retry::RetryPolicy;

/// The options that `#[activity(..)]` names; `None` is the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct OptionsSpec {
    /// Limit of one attempt, in microseconds.
    pub start_to_close_us: Option<u64>,
    /// Limit of all attempts, in microseconds.
    pub schedule_to_close_us: Option<u64>,
    /// First retry delay, in microseconds.
    pub initial_us: Option<u64>,
    /// Longest retry delay, in microseconds.
    pub max_us: Option<u64>,
    /// Factor between delays.
    pub coefficient: Option<f64>,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Share of each delay that is spread.
    pub jitter: Option<f64>,
}

/// The options of an activity.
///
/// # Panics
///
/// If the retry values make no sense; the attribute refuses them at compile time.
#[expect(clippy::panic, reason = "the attribute has checked the values")]
pub fn activity_options(spec: OptionsSpec) -> ActivityOptions {
    let mut retry = RetryPolicy::builder();
    if let Some(us) = spec.initial_us {
        retry = retry.initial(Duration::from_micros(us));
    }
    if let Some(us) = spec.max_us {
        retry = retry.max(Duration::from_micros(us));
    }
    if let Some(coefficient) = spec.coefficient {
        retry = retry.coefficient(coefficient);
    }
    if let Some(attempts) = spec.max_attempts {
        retry = retry.max_attempts(attempts);
    }
    if let Some(jitter) = spec.jitter {
        retry = retry.jitter(jitter);
    }
    let retry = match retry.build() {
        Ok(retry) => retry,
        Err(error) => panic!("{error}"),
    };
    let mut options = ActivityOptions::default().with_retry(retry);
    if let Some(us) = spec.start_to_close_us {
        options = options.with_start_to_close(Duration::from_micros(us));
    }
    if let Some(us) = spec.schedule_to_close_us {
        options = options.with_schedule_to_close(Duration::from_micros(us));
    }
    options
}
