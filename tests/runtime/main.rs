//! Workers and clients on SQLite, from the start of a run to its result.

mod crash;
mod faulty;
mod fleet;
mod harness;
mod steps;
