//! The core of `durable`: replay engine, workflow and activity model, runtime, client, and the contract
//! that storage providers implement. It knows no database. Applications use the facade crate `durable`.

pub mod activity;
pub mod client;
pub mod engine;
pub mod history;
pub mod id;
pub mod limits;
mod panics;
pub mod payload;
#[doc(hidden)]
pub mod private;
pub mod provider;
pub mod replay;
pub mod retry;
pub mod runtime;
pub mod time;
pub mod workflow;
