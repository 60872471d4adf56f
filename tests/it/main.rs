//! End to end through the facade: workflows against histories, without a database.
#![allow(missing_docs, clippy::unnecessary_wraps, clippy::unused_async)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cancel;
mod combinators;
mod continue_as_new;
mod diagnosis;
mod exported;
mod faults;
mod golden;
mod harness;
mod keys;
mod random;
mod replay;
mod timers;
mod version;
