//! The project's own commands: `cargo xtask test | ci | bench | tidy`. It needs Rust and a C compiler, nothing else.

mod bench;
mod ci;
mod mutants;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask <command>

  test [--quick]   everything that has to hold before a commit, cheap checks first;
                   --quick leaves out clippy, the feature loop and the documentation
  ci   [--quick]   the same, under the name that a build server uses
  simulate [FROM..TO]
                   runs the simulation with these seeds, by default 0..100000, in a release build
  mutants [--only TEXT]...
                   plants the faults of tests/mutants.toml one at a time; the tests have to notice each
  bench [options]  what durable execution costs here, against bare commits; release build, a few minutes;
                   --rounds N, --only W1,W3, --dir DIR, --json FILE, --smoke (docs/performance.md)
  tidy             only the project's own rules: layers, lengths, names, SQL, cases, guarantees";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let Some((command, options)) = arguments.split_first() else { bail!("no command given\n\n{USAGE}") };
    match command.as_str() {
        "test" | "ci" => test::run(&root()?, options),
        "simulate" => test::simulate(&root()?, options),
        "mutants" => mutants::run(&root()?, options),
        "bench" => bench::run(&root()?, options),
        "tidy" if options.is_empty() => tidy::run(&root()?),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("`{}` is no command of xtask\n\n{USAGE}", arguments.join(" ")),
    }
}

/// The repository's root: cargo names this package's folder, its parent is the root. Run without cargo,
/// the nearest folder upwards that holds `xtask/Cargo.toml` is taken.
fn root() -> Result<PathBuf> {
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR")
        && let Some(parent) = Path::new(&package).parent()
    {
        return Ok(parent.to_path_buf());
    }
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let found = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    found
        .map(Path::to_path_buf)
        .context("no folder with xtask/Cargo.toml here or above; run it inside the repository")
}
