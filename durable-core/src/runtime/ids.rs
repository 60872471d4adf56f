//! Fresh ids: from the operating system, or from a seed in deterministic mode.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::{Builder, Uuid};

use crate::id::{FlushId, IdSeed, Incarnation, RequestId, RunId};

/// Where fresh ids come from.
#[derive(Debug)]
pub(crate) struct Ids {
    seeded: Option<Seeded>,
}

#[derive(Debug)]
struct Seeded {
    seed: u64,
    drawn: AtomicU64,
}

impl Ids {
    pub(super) fn random() -> Self {
        Self { seeded: None }
    }

    /// The same ids in the same order for the same seed.
    pub(super) fn seeded(seed: u64) -> Self {
        Self { seeded: Some(Seeded { seed, drawn: AtomicU64::new(0) }) }
    }

    pub(crate) fn run(&self) -> RunId {
        self.seeded.as_ref().map_or_else(RunId::fresh, |seeded| RunId(seeded.ordered()))
    }

    pub(crate) fn seed(&self) -> IdSeed {
        self.seeded.as_ref().map_or_else(IdSeed::fresh, |seeded| IdSeed(seeded.ordered()))
    }

    pub(crate) fn request(&self) -> RequestId {
        self.seeded.as_ref().map_or_else(RequestId::fresh, |seeded| RequestId(seeded.ordered()))
    }

    pub(super) fn flush(&self) -> FlushId {
        self.seeded.as_ref().map_or_else(FlushId::fresh, |seeded| FlushId(seeded.ordered()))
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.seeded.as_ref().map_or_else(Incarnation::fresh, |seeded| Incarnation(seeded.ordered()))
    }
}

impl Seeded {
    /// Later ids are greater, as those of UUID v7 are.
    fn ordered(&self) -> Uuid {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (mix(self.seed ^ mix(drawn)), mix(self.seed.wrapping_add(drawn)));
        let mut random = [0; 10];
        random[..8].copy_from_slice(&high.to_le_bytes());
        random[8..].copy_from_slice(&low.to_le_bytes()[..2]);
        Builder::from_unix_timestamp_millis(drawn, &random).into_uuid()
    }
}

/// `splitmix64` (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_in_order_and_another_seed_gives_others() {
        let draw = |seed| {
            let ids = Ids::seeded(seed);
            (0..100).map(|_| ids.run()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert!(draw(1).windows(2).all(|pair| pair[0] < pair[1]));
        assert!(draw(1).iter().all(|id| !draw(2).contains(id)));
        assert_ne!(Ids::random().run(), Ids::random().run());
    }
}
