//! Workers and clients on the provider in memory: the scenarios of `tests/runtime`, word for word.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod backend;
#[path = "../runtime/bad_input.rs"]
mod bad_input;
#[path = "../runtime/continue_as_new.rs"]
mod continue_as_new;
#[path = "../runtime/crash.rs"]
mod crash;
#[path = "../runtime/explorer.rs"]
mod explorer;
#[path = "../runtime/fleet.rs"]
mod fleet;
#[path = "../runtime/harness.rs"]
mod harness;
#[path = "../runtime/ledger.rs"]
mod ledger;
#[path = "../runtime/promises.rs"]
mod promises;
#[path = "../runtime/replay.rs"]
mod replay;
#[path = "../runtime/replay_tool.rs"]
mod replay_tool;
#[path = "../runtime/scale.rs"]
mod scale;
#[path = "../runtime/simulation.rs"]
mod simulation;
#[path = "../runtime/starts.rs"]
mod starts;
#[path = "../runtime/steps.rs"]
mod steps;
#[path = "../runtime/suspects.rs"]
mod suspects;
#[path = "../runtime/threads.rs"]
mod threads;
#[path = "../runtime/time.rs"]
mod time;
#[path = "../runtime/told.rs"]
mod told;
#[path = "../runtime/undecodable.rs"]
mod undecodable;
#[path = "../runtime/world.rs"]
mod world;
