//! `cargo xtask mutants`: plants the faults of `tests/mutants.toml` one at a time in a scratch copy and demands that
//! the tests notice.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A fault that makes the tests go on for ever is noticed, too.
const PATIENCE: Duration = Duration::from_mins(5);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
    by: Tests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tests {
    Explorer,
    Engine,
    Random,
    Promises,
    Conformance,
    Sqlite,
}

impl Tests {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Explorer => &["--test", "runtime_memory", "--", "explorer::", "simulation::"],
            Self::Engine => &["--test", "it"],
            Self::Random => &["--test", "it", "random::"],
            Self::Promises => {
                &["--test", "runtime_memory", "--", "promises::", "fleet::", "starts::", "continue_as_new::"]
            }
            Self::Conformance => &["-p", "durable-testkit", "--test", "conformance"],
            Self::Sqlite => &["-p", "durable-sqlite", "--test", "sqlite", "--", "conformance::"],
        }
    }
}

/// How the tests took a fault.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Noticed,
    TookTooLong,
}

/// Runs every mutant, or with `--only TEXT`, which may be repeated, those whose name holds one of the texts.
pub(crate) fn run(root: &Path, options: &[String]) -> Result<()> {
    let mut only = Vec::new();
    for option in options.chunks(2) {
        match option {
            [flag, text] if flag == "--only" => only.push(text.as_str()),
            _ => bail!("`{}` is no option of this command; it takes `--only TEXT`", option.join(" ")),
        }
    }
    let asked = |mutant: &&Mutant| only.is_empty() || only.iter().any(|text| mutant.name.contains(text));
    let text = std::fs::read_to_string(root.join("tests/mutants.toml")).context("tests/mutants.toml")?;
    let list: List = toml::from_str(&text).context("tests/mutants.toml")?;
    let chosen: Vec<&Mutant> = list.mutant.iter().filter(asked).collect();
    ensure!(!chosen.is_empty(), "no mutant is named so");
    for mutant in &chosen {
        mutated(root, mutant)?;
    }
    let copy = root.join("target/mutants/copy");
    copy_sources(root, &copy)?;
    for tests in
        [Tests::Explorer, Tests::Engine, Tests::Random, Tests::Promises, Tests::Conformance, Tests::Sqlite]
    {
        if chosen.iter().any(|mutant| mutant.by == tests) {
            println!("── without a fault: {tests:?}");
            let verdict = build(root, &copy, tests).and_then(|()| test(root, &copy, tests))?;
            ensure!(verdict == Verdict::Passed, "{tests:?} does not pass without a fault: {verdict:?}");
        }
    }
    let mut survivors = Vec::new();
    for mutant in &chosen {
        let begun = now();
        let place = copy.join(&mutant.file);
        std::fs::write(&place, mutated(root, mutant)?)?;
        let verdict = build(root, &copy, mutant.by).and_then(|()| test(root, &copy, mutant.by));
        std::fs::copy(root.join(&mutant.file), &place)?;
        let verdict = verdict.with_context(|| format!("mutant `{}`", mutant.name))?;
        println!("── {}: {verdict:?} after {:.0} s", mutant.name, begun.elapsed().as_secs_f64());
        if verdict == Verdict::Passed {
            survivors.push(mutant.name.as_str());
        }
    }
    ensure!(survivors.is_empty(), "nobody noticed {survivors:#?}");
    println!("all {} planted faults were noticed", chosen.len());
    Ok(())
}

/// The file with the fault in it.
fn mutated(root: &Path, mutant: &Mutant) -> Result<String> {
    let text = std::fs::read_to_string(root.join(&mutant.file))
        .with_context(|| format!("mutant `{}`: {}", mutant.name, mutant.file.display()))?;
    let places = text.matches(&mutant.find).count();
    ensure!(
        places == 1,
        "mutant `{}`: its text occurs {places} times in {}, it must occur once",
        mutant.name,
        mutant.file.display()
    );
    Ok(text.replace(&mutant.find, &mutant.replace))
}

/// Copies what git knows or would know. Unchanged files keep their time, so that cargo builds only what differs.
fn copy_sources(root: &Path, copy: &Path) -> Result<()> {
    let listed = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("git does not start")?;
    ensure!(listed.status.success(), "git ls-files ended with {}", listed.status);
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (from, to) = (root.join(name), copy.join(name));
        let Ok(text) = std::fs::read(&from) else { continue };
        if std::fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        std::fs::create_dir_all(to.parent().context("a file in no folder")?)?;
        std::fs::write(&to, text)?;
    }
    Ok(())
}

fn cargo(root: &Path, copy: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(copy).args(arguments).env("CARGO_TARGET_DIR", root.join("target/mutants/target"));
    // Mutants leave values unused.
    command
        .env("RUSTFLAGS", "--cap-lints=warn")
        .env("DURABLE_SIM_SEEDS", "0..400")
        .env("RUST_BACKTRACE", "0");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A fault has to compile, or it shows nothing.
fn build(root: &Path, copy: &Path, tests: Tests) -> Result<()> {
    let wanted = tests.arguments().split(|argument| *argument == "--").next().unwrap_or_default();
    let arguments = [&["test", "--no-run"], wanted].concat();
    let built = cargo(root, copy, &arguments).stderr(Stdio::inherit()).arg("-q").status()?;
    ensure!(built.success(), "it does not compile");
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "watches a child process; the product's `Clock` is for the product"
)]
fn test(root: &Path, copy: &Path, tests: Tests) -> Result<Verdict> {
    let arguments = [&["test"], tests.arguments()].concat();
    let mut child = cargo(root, copy, &arguments).process_group(0).spawn().context("cargo does not start")?;
    let begun = now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Verdict::Passed } else { Verdict::Noticed });
        }
        if begun.elapsed() > PATIENCE {
            // Cargo's own child, the test, must go too.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().context("kill does not start")?;
            child.wait()?;
            return Ok(Verdict::TookTooLong);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the product's `Clock` is for the product; this prints how long a mutant took"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_has_its_place_and_changes_it() {
        let root = crate::root().unwrap();
        let text = std::fs::read_to_string(root.join("tests/mutants.toml")).unwrap();
        let list: List = toml::from_str(&text).unwrap();
        assert!(list.mutant.len() >= 12);
        for mutant in &list.mutant {
            assert_ne!(
                mutated(&root, mutant).unwrap(),
                std::fs::read_to_string(root.join(&mutant.file)).unwrap()
            );
        }
    }
}
