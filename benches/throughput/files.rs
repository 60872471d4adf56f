//! Where databases are made, and what they lie on.

use std::path::Path;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// A folder of its own, removed at the end.
pub(crate) fn fresh(under: &Path) -> Result<TempDir> {
    std::fs::create_dir_all(under)
        .and_then(|()| tempfile::Builder::new().prefix("bench-").tempdir_in(under))
        .with_context(|| format!("no folder can be made in {}", under.display()))
}

/// The file system's name, where the system tells it.
pub(crate) fn file_system(folder: &Path) -> String {
    let unknown = || "unknown".to_owned();
    let (Ok(folder), Ok(mounts)) = (folder.canonicalize(), std::fs::read_to_string("/proc/self/mounts"))
    else {
        return unknown();
    };
    let under = mounts.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        folder.starts_with(point).then_some((point.len(), kind))
    });
    // The last of several mounts on one point hides the others.
    under.max_by_key(|(length, _)| *length).map_or_else(unknown, |(_, kind)| kind.to_owned())
}
