//! Test tools of `durable`: an in-memory provider, a virtual clock, and the suite that every provider
//! must pass.

pub mod clock;
pub mod conformance;
pub mod memory;

pub use self::clock::VirtualClock;
pub use self::memory::MemoryProvider;
