//! Processes that end themselves: real children on one SQLite file, restarted under one slot until all is done.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod child;
mod lost;
mod panic_abort;
mod poison;
mod supervisor;
