//! Workers and clients on SQLite, from the start of a run to its result.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod backend;
mod bad_input;
mod crash;
mod faulty;
mod fleet;
mod harness;
mod promises;
mod steps;
