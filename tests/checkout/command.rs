//! Runs the built examples as a user does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The main job's executable.
pub(crate) fn checkout() -> Command {
    static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();
    Command::new(EXECUTABLE.get_or_init(|| executable("checkout")))
}

/// The executable of the smallest example.
pub(crate) fn hello() -> Command {
    Command::new(executable("hello"))
}

/// The executable of the deploy under runs that are under way.
pub(crate) fn upgrade() -> Command {
    Command::new(executable("upgrade"))
}

/// Runs it to its end and returns what it printed.
pub(crate) fn run(args: &[&str], data: &Path) -> Output {
    checkout().args(args).arg("--data").arg(data).output().unwrap()
}

/// Standard output of a run that must have succeeded.
pub(crate) fn report(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    text
}

/// The number behind `label` in the report.
pub(crate) fn figure(report: &str, label: &str) -> usize {
    let line = report.lines().find_map(|line| line.trim_start().strip_prefix(label));
    let value = line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok());
    value.unwrap_or_else(|| panic!("no figure `{label}` in:\n{report}"))
}

/// `cargo test` builds examples beside the tests; `cargo test --test checkout` does not, and would run a stale one.
fn executable(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let path = profile.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    let built = fs::metadata(&path).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    if newest_source(Path::new(env!("CARGO_MANIFEST_DIR"))) > built {
        let name = profile.file_name().unwrap().to_str().unwrap();
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "durable", "--example", example])
            .args(["--profile", if name == "debug" { "dev" } else { name }])
            .arg("--target-dir")
            .arg(profile.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(status.success(), "cannot build the example: {status}");
    }
    path
}

/// When anything that an example is built from last changed.
fn newest_source(root: &Path) -> SystemTime {
    let folders = ["src", "examples", "durable-core", "durable-macros", "durable-sqlite"];
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                open.push(entry.path());
            } else {
                newest = newest.max(meta.modified().unwrap());
            }
        }
    }
    newest
}
