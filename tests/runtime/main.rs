//! Workers and clients on SQLite, from the start of a run to its result.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod backend;
mod bad_files;
mod bad_input;
mod continue_as_new;
mod crash;
mod explorer;
mod fleet;
mod harness;
mod ledger;
mod promises;
mod replay;
mod replay_tool;
mod scale;
mod simulation;
mod starts;
mod steps;
mod suspects;
mod threads;
mod time;
mod told;
mod undecodable;
mod world;
