//! Retry arithmetic: pure, saturating, and refused where it is built if it makes no sense.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When and how often a failed attempt is made again.
///
/// Defaults: first delay 1 s, coefficient 2, longest delay 100 s, no limit on attempts, jitter 0.1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    initial_us: u64,
    coefficient: f64,
    max_us: u64,
    /// `None` means no limit.
    max_attempts: Option<u32>,
    jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { initial_us: 1_000_000, coefficient: 2.0, max_us: 100_000_000, max_attempts: None, jitter: 0.1 }
    }
}

/// A retry policy that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRetryPolicy {
    /// `max_attempts` is zero.
    #[error("max_attempts is 0: the activity would never run; use 1 for a single attempt")]
    NoAttempts,
    /// The coefficient is below 1, infinite or not a number.
    #[error("the retry coefficient is {0}: it must be a finite number of at least 1, or delays would shrink")]
    Coefficient(f64),
    /// The first delay is longer than the longest.
    #[error(
        "the first retry delay {initial:?} is longer than the longest {max:?}; raise `max` or lower `initial`"
    )]
    InitialOverMax {
        /// The first delay.
        initial: Duration,
        /// The longest delay.
        max: Duration,
    },
    /// The jitter is outside 0 to 1.
    #[error("the retry jitter is {0}: it must be between 0 and 1")]
    Jitter(f64),
}

/// Builds a [`RetryPolicy`]; every bad value is refused by [`RetryPolicyBuilder::build`].
#[derive(Debug, Clone, Default)]
pub struct RetryPolicyBuilder {
    initial: Option<Duration>,
    coefficient: Option<f64>,
    max: Option<Duration>,
    max_attempts: Option<u32>,
    jitter: Option<f64>,
}

impl RetryPolicyBuilder {
    /// Delay before the second attempt. Default 1 s.
    #[must_use]
    pub fn initial(mut self, delay: Duration) -> Self {
        self.initial = Some(delay);
        self
    }

    /// Factor from one delay to the next, at least 1. Default 2.
    #[must_use]
    pub fn coefficient(mut self, coefficient: f64) -> Self {
        self.coefficient = Some(coefficient);
        self
    }

    /// Longest delay. Default 100 times the first.
    #[must_use]
    pub fn max(mut self, delay: Duration) -> Self {
        self.max = Some(delay);
        self
    }

    /// Attempts in all, the first included, crashes counted. Default: no limit.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// Share of each delay that is spread at random (from a recorded seed), 0 to 1. Default 0.1.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = Some(jitter);
        self
    }

    /// Checks the values.
    pub fn build(self) -> Result<RetryPolicy, InvalidRetryPolicy> {
        let initial = self.initial.unwrap_or(Duration::from_secs(1));
        let max = self.max.unwrap_or_else(|| initial.saturating_mul(100));
        let coefficient = self.coefficient.unwrap_or(2.0);
        let jitter = self.jitter.unwrap_or(0.1);
        if self.max_attempts == Some(0) {
            return Err(InvalidRetryPolicy::NoAttempts);
        }
        if !coefficient.is_finite() || coefficient < 1.0 {
            return Err(InvalidRetryPolicy::Coefficient(coefficient));
        }
        if initial > max {
            return Err(InvalidRetryPolicy::InitialOverMax { initial, max });
        }
        if !(0.0..=1.0).contains(&jitter) {
            return Err(InvalidRetryPolicy::Jitter(jitter));
        }
        let us = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        Ok(RetryPolicy {
            initial_us: us(initial),
            coefficient,
            max_us: us(max),
            max_attempts: self.max_attempts,
            jitter,
        })
    }
}

impl RetryPolicy {
    /// A builder with the defaults.
    pub fn builder() -> RetryPolicyBuilder {
        RetryPolicyBuilder::default()
    }

    /// One attempt and no more.
    pub fn once() -> Self {
        Self { max_attempts: Some(1), ..Self::default() }
    }

    /// Attempts in all; `None` means no limit.
    pub fn max_attempts(&self) -> Option<u32> {
        self.max_attempts
    }

    /// Whether another attempt may follow after `attempts` were made.
    pub fn allows_another(&self, attempts: u32) -> bool {
        self.max_attempts.is_none_or(|max| attempts < max)
    }

    /// The delay after attempt `attempt` (1 is the first), before jitter: saturates, never shrinks,
    /// never exceeds the longest delay.
    pub fn delay(&self, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "delays are rounded anyway")]
        let grown = self.initial_us as f64 * self.coefficient.powi(exponent);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float cast saturates: infinity becomes the maximum, and both factors are positive"
        )]
        let grown = grown as u64;
        Duration::from_micros(grown.min(self.max_us))
    }

    /// The delay after attempt `attempt` with jitter drawn from `seed`: at most the share of the delay
    /// that [`RetryPolicyBuilder::jitter`] names is taken off.
    pub fn jittered_delay(&self, attempt: u32, seed: u64) -> Duration {
        let delay = self.delay(attempt);
        // SplitMix64: one well-mixed number per (seed, attempt).
        let mut z = seed.wrapping_add(u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are enough for jitter")]
        let unit = (z >> 11) as f64 / (1u64 << 53) as f64;
        delay.mul_f64(1.0 - self.jitter * unit)
    }
}

/// What an error knows about trying again; optional, for the error type of an activity.
///
/// Without it every error is retried by the activity's policy.
///
/// ```
/// # use std::time::Duration;
/// # enum PaymentError { Refused, Busy }
/// # use durable_core::retry::RetryAdvice;
/// impl RetryAdvice for PaymentError {
///     fn retryable(&self) -> bool {
///         !matches!(self, Self::Refused)
///     }
///     fn retry_after(&self) -> Option<Duration> {
///         matches!(self, Self::Busy).then(|| Duration::from_secs(30))
///     }
/// }
/// ```
pub trait RetryAdvice {
    /// Whether another attempt may help. Default: yes.
    fn retryable(&self) -> bool {
        true
    }

    /// How long to wait before it at least. Default: the policy's delay.
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_saturate_and_never_shrink_over_ten_thousand_attempts() {
        let policy = RetryPolicy::builder().initial(Duration::from_millis(200)).build().unwrap();
        let mut last = Duration::ZERO;
        for attempt in 1..=10_000 {
            let delay = policy.delay(attempt);
            assert!(delay >= last && delay > Duration::ZERO && delay <= Duration::from_secs(20));
            let jittered = policy.jittered_delay(attempt, 42);
            assert!(jittered <= delay && jittered >= delay.mul_f64(0.899));
            last = delay;
        }
    }

    #[test]
    fn every_bad_policy_is_refused_where_it_is_built() {
        let b = RetryPolicy::builder;
        assert_eq!(b().max_attempts(0).build(), Err(InvalidRetryPolicy::NoAttempts));
        for bad in [0.0, 0.99, -1.0, f64::INFINITY] {
            assert_eq!(b().coefficient(bad).build(), Err(InvalidRetryPolicy::Coefficient(bad)));
        }
        assert!(matches!(b().coefficient(f64::NAN).build(), Err(InvalidRetryPolicy::Coefficient(_))));
        assert!(b().initial(Duration::from_secs(2)).max(Duration::from_secs(1)).build().is_err());
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(b().jitter(bad).build(), Err(InvalidRetryPolicy::Jitter(_))));
        }
    }
}
