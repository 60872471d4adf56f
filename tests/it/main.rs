//! End to end through the facade: workflows against histories, without a database.
#![allow(missing_docs, clippy::unnecessary_wraps, clippy::unused_async)]

mod cancel;
mod faults;
mod harness;
mod keys;
mod replay;
mod timers;
