//! Test tools of `durable`: the provider contract as running code, in memory.

pub mod memory;

pub use self::memory::MemoryProvider;
