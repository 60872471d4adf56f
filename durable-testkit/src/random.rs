//! Random numbers from a seed that a test prints.

/// A small generator. Steele, Lea, Flood: *Fast splittable pseudorandom number generators* (2014).
#[derive(Debug, Clone, Copy)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that no two runs share, for the test to print.
    pub fn fresh_seed() -> u64 {
        use std::hash::{BuildHasher, Hasher};
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    }

    /// Another generator for each text and number.
    pub(crate) fn of(seed: u64, name: &str, nth: usize) -> Self {
        let mut random = Self(seed);
        for byte in name.bytes().chain(nth.to_le_bytes()) {
            random.0 = random.draw() ^ u64::from(byte);
        }
        random
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, 0 if that is 0; the bias of the remainder is nothing at a test's sizes.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.draw() % limit).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_come_out() {
        let mut random = SplitMix::new(1_234_567);
        let drawn: Vec<_> = (0..3).map(|_| random.draw()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert!((0..100).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }
}
