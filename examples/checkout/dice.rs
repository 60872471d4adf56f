//! Randomness that a printed seed repeats: `SplitMix64`, and a pause that stands for a network.

use std::time::Duration;

/// A seeded stream of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream for one subject, for example the second call for one order, whatever came before it.
    pub(crate) fn about(seed: u64, subject: &str) -> Self {
        // FNV-1a.
        let hash = subject
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Self::new(seed ^ hash)
    }

    /// A seed that nobody chose.
    pub(crate) fn fresh_seed() -> u64 {
        use std::hash::{BuildHasher, RandomState};
        // Six digits and a bit: easy to type again.
        RandomState::new().hash_one("checkout") % 10_000_000
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but not including, `bound` (0 for a bound of 0).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }
}

/// What a call to somebody else's service takes: 20 to 60 ms.
#[expect(
    clippy::disallowed_methods,
    reason = "stands for a real service, whose answer no test clock can hurry"
)]
pub(crate) async fn network_delay(dice: &mut Dice) {
    tokio::time::sleep(Duration::from_millis(20 + dice.below(41))).await;
}
