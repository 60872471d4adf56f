//! A program that is built so that a panic ends it is told so, at once.

use std::path::Path;
use std::process::{Command, Output};

/// Builds the smallest program with a worker, without any database, and runs it. What it is built from is in the
/// lock file and was downloaded for this test, so the network is not asked.
fn worker_built_with_panic_abort() -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic-abort");
    Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--offline",
            "--locked",
            "--package",
            "durable-testkit",
            "--example",
            "worker",
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_PROFILE_DEV_PANIC", "abort")
        // Nobody looks into this program: as little as possible is made.
        .env("CARGO_PROFILE_DEV_DEBUG", "none")
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .unwrap()
}

#[test]
fn a_worker_built_with_panic_abort_is_refused_with_what_to_change() {
    let output = worker_built_with_panic_abort();
    let told = String::from_utf8_lossy(&output.stderr);
    let text = "error: this program is built with `panic = \"abort\"`: a panic in one workflow or activity would end \
                all of them; remove it from the Cargo profile\n";
    assert!(told.ends_with(text), "{told}");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "{output:?}");
}
