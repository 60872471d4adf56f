//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use serde::Serialize;

/// Measures durable execution on SQLite against bare commits of the same database.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
pub(crate) struct Args {
    /// Rounds; the table shows medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Only these workloads, e.g. `W1,W3`; the floor is always measured
    #[arg(long, value_name = "LIST", value_delimiter = ',', ignore_case = true)]
    pub(crate) only: Vec<Work>,

    /// Where the databases are made, which decides the file system
    #[arg(long, value_name = "DIR", default_value = env!("CARGO_TARGET_TMPDIR"))]
    pub(crate) dir: PathBuf,

    /// Writes every figure to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// One round of tiny sizes that checks the counts and no time
    #[arg(long)]
    pub(crate) smoke: bool,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[value(rename_all = "UPPER")]
pub(crate) enum Work {
    /// Many workflows of a few sequential activities.
    W1,
    /// One workflow of many parallel activities.
    W2,
    /// One activity, from start to result, again and again.
    W3,
    /// One workflow of many sequential activities.
    W4,
}

impl Args {
    /// What is to be measured, in order.
    pub(crate) fn works(&self) -> &[Work] {
        if self.only.is_empty() { Work::value_variants() } else { &self.only }
    }
}
