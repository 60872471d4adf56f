//! What the attributes accept, and what they refuse with which words.
//!
//! Expected texts are rewritten with `TRYBUILD=overwrite cargo test --test ui`; read the diff.

use std::fs;
use std::path::Path;

/// A user reads the first lines of an error: each expected text must fit on a screen.
const STDERR_MAX_LINES: usize = 20;

#[test]
fn programs_that_must_compile_and_run() {
    trybuild::TestCases::new().pass("tests/ui/pass/**/*.rs");
}

#[test]
fn programs_that_must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/**/*.rs");
}

#[test]
fn every_error_is_short_and_stands_at_the_users_tokens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/fail");
    let mut seen = 0;
    for folder in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "stderr") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().count();
            assert!(lines <= STDERR_MAX_LINES, "{} has {lines} lines", path.display());
            // The compiler says so when it underlines the attribute for want of a better place.
            assert!(!text.contains("originates in the attribute macro"), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 60, "{seen} expected texts");
}
