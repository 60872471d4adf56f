//! Test tools of `durable`: an in-memory provider, a virtual clock, a provider that injects faults, and the suite
//! that every provider must pass. With the feature `postgres`, also a throw-away PostgreSQL server.

pub mod clock;
pub mod conformance;
mod effects;
pub mod explore;
pub mod fault;
mod history;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod random;
pub mod simulate;
mod world;

pub use self::clock::VirtualClock;
pub use self::effects::Effects;
pub use self::fault::FaultProvider;
pub use self::history::read_history;
pub use self::memory::MemoryProvider;
pub use self::world::{Call, Fate, Skew, World};
