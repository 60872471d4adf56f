//! The runtime: workers that own runs, run their turns on workflow threads, and commit before any effect.
//!
//! One task owns all runs of a worker (`ownership`); turns run on plain threads (`threads`), commits are
//! grouped by one task (`committer`), attempts of activities are tasks of their own (`attempts`, `rows`).

mod attempts;
mod cache;
mod committer;
mod durable;
mod gate;
mod host;
mod ids;
mod inline;
mod job;
mod leases;
mod message;
mod notify;
mod outcome_message;
mod ownership;
mod ownership_claim;
mod ownership_commit;
mod ownership_effects;
mod ownership_step;
mod poller;
mod registry;
mod rows;
mod shared;
mod start;
mod tasks;
mod threads;
mod worker;

pub use self::durable::Durable;
pub(crate) use self::durable::Inner;
pub use self::inline::InlineHost;
pub use self::registry::DuplicateName;
pub use self::start::StartError;
pub use self::worker::{Worker, WorkerBuilder};
