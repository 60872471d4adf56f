//! `cargo xtask bench`: builds the benchmark for speed and runs it with the options given. What it measures is its
//! own business, in `benches/throughput/`.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::test::cargo;

/// The whole workspace, so that nothing is built twice with other features.
const BENCH: [&str; 5] = ["bench", "--workspace", "--bench", "throughput", "--"];

/// Runs it; `options` are the benchmark's own.
pub(crate) fn run(root: &Path, options: &[String]) -> Result<()> {
    let status = cargo(root, &BENCH).args(options).status().context("cargo does not start")?;
    ensure!(status.success(), "the benchmark ended with {status}");
    Ok(())
}
