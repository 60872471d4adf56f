//! The provider on real files: the common suite, damage, faults, locks, and several processes.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

mod conformance;
mod damage;
mod dump;
mod faults;
mod fixture;
mod kills;
mod plans;
mod processes;
mod waiting;
mod world;
