//! The provider on real files: the common suite, damage, and several processes.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

mod conformance;
mod damage;
mod fixture;
mod plans;
mod processes;
