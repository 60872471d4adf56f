//! `cargo xtask test`: runs the steps of `ci.rs` one after the other, says what each is and how long it took,
//! and stops at the first failure with the command that repeats it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::ci::{Action, STEPS, Step};
use crate::tidy;

/// Runs every step, or with `--quick` the quick ones.
pub(crate) fn run(root: &Path, options: &[String]) -> Result<()> {
    let quick = match options {
        [] => false,
        [option] if option == "--quick" => true,
        _ => bail!("`{}` is no option of this command; it takes `--quick` or nothing", options.join(" ")),
    };
    require_components(root)?;
    println!("── PostgreSQL for the tests: {}", postgres_server());
    let steps: Vec<&Step> = STEPS.iter().filter(|step| step.in_quick || !quick).collect();
    let begun = now();
    for (index, step) in steps.iter().enumerate() {
        println!("── {}/{} {}: {}", index + 1, steps.len(), step.name, repeat(&step.action));
        let step_begun = now();
        if let Err(error) = perform(root, &step.action) {
            bail!("step `{}` failed: {error:#}\n\nrepeat it with\n\n    {}", step.name, repeat(&step.action));
        }
        println!("── {} passed in {}", step.name, shown(step_begun.elapsed()));
    }
    let left_out = STEPS.len() - steps.len();
    let note = if left_out > 0 { format!(" ({left_out} left out by --quick)") } else { String::new() };
    println!("all {} steps passed in {}{note}", steps.len(), shown(begun.elapsed()));
    Ok(())
}

/// Runs the simulation with many seeds.
pub(crate) fn simulate(root: &Path, options: &[String]) -> Result<()> {
    let seeds = match options {
        [] => "0..100000",
        [seeds] if seeds.contains("..") => seeds,
        _ => bail!("`{}` is no range of seeds; write e.g. `0..2000`", options.join(" ")),
    };
    let begun = now();
    let arguments = ["test", "--release", "--test", "runtime_memory", "--", "simulation::", "--nocapture"];
    let status =
        cargo(root, &arguments).env("DURABLE_SIM_SEEDS", seeds).status().context("cargo does not start")?;
    ensure!(status.success(), "cargo ended with {status}");
    println!("seeds {seeds} in {}", shown(begun.elapsed()));
    Ok(())
}

/// rust-toolchain.toml names both components, so rustup installs them by itself; other installations may lack them.
fn require_components(root: &Path) -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let mut command = cargo(root, &[subcommand, "--version"]);
        let found =
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().context("cargo does not start")?;
        ensure!(
            found.success(),
            "the component `{component}` is missing from this Rust toolchain; install it with \
             `rustup component add {component}`, or with your distribution's package of that name"
        );
    }
    Ok(())
}

/// Where the tests take a PostgreSQL server from, in the order in which `durable_testkit::postgres` looks.
fn postgres_server() -> String {
    const VARIABLE: &str = "DURABLE_TEST_POSTGRES_URL";
    if std::env::var_os(VARIABLE).is_some() {
        return format!("the running one that {VARIABLE} names");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let found = debian.chain(std::env::split_paths(&path)).find(|folder| folder.join("initdb").is_file());
    match found {
        Some(folder) => {
            format!("throw-away ones, started from {} ({VARIABLE} names another)", folder.display())
        }
        None => format!(
            "none here yet; the package `postgresql` is installed with apt-get ({VARIABLE} avoids that)"
        ),
    }
}

fn perform(root: &Path, action: &Action) -> Result<()> {
    match action {
        Action::Tidy => tidy::run(root),
        Action::Cargo { arguments, environment } => {
            let mut command = cargo(root, arguments);
            let status =
                command.envs(environment.iter().copied()).status().context("cargo does not start")?;
            ensure!(status.success(), "cargo ended with {status}");
            Ok(())
        }
    }
}

/// The cargo that runs us, so that a `+toolchain` on the command line holds for every step.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    command
}

/// The command line that repeats an action.
fn repeat(action: &Action) -> String {
    match action {
        Action::Tidy => "cargo xtask tidy".to_owned(),
        Action::Cargo { arguments, environment } => {
            let variables = environment.iter().map(|(name, value)| format!("{name}='{value}' "));
            format!("{}cargo {}", variables.collect::<String>(), arguments.join(" "))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the product's `Clock` is for the product; this prints how long a step took"
)]
fn now() -> Instant {
    Instant::now()
}

fn shown(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_repeat_a_step_carries_its_environment() {
        let action =
            Action::Cargo { arguments: &["doc", "--workspace"], environment: &[("FLAGS", "-D warnings")] };
        assert_eq!(repeat(&action), "FLAGS='-D warnings' cargo doc --workspace");
    }

    #[test]
    fn it_says_where_the_postgresql_server_comes_from() {
        assert!(postgres_server().contains("DURABLE_TEST_POSTGRES_URL"));
    }

    #[test]
    fn an_unknown_option_is_refused_by_name() {
        let error = run(Path::new("."), &["--fast".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("`--fast` is no option"), "{error}");
    }

    #[test]
    fn a_failing_step_is_an_error() {
        let action = Action::Cargo { arguments: &["no-such-subcommand-of-cargo"], environment: &[] };
        assert!(perform(Path::new("."), &action).is_err());
    }

    #[test]
    fn quick_keeps_format_tidy_and_tests() {
        let kept: Vec<_> = STEPS.iter().filter(|step| step.in_quick).map(|step| step.name).collect();
        let expected =
            ["format", "tidy", "examples", "tests", "crashes and simulations", "doctests", "bench smoke"];
        assert_eq!(kept, expected);
    }
}
