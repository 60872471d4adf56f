//! Workers and clients on the provider in memory: the scenarios of `tests/runtime`, word for word.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod backend;
#[path = "../runtime/crash.rs"]
mod crash;
#[path = "../runtime/faulty.rs"]
mod faulty;
#[path = "../runtime/fleet.rs"]
mod fleet;
#[path = "../runtime/harness.rs"]
mod harness;
#[path = "../runtime/promises.rs"]
mod promises;
#[path = "../runtime/steps.rs"]
mod steps;
