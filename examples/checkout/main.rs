//! The main job: a shop's orders, checked out durably while their worker is killed again and again.
//!
//! `cargo run --release --example checkout` supervises a worker process, kills it with SIGKILL at random moments with
//! activities in flight, restarts it, and ends with a report by a verifier that trusts neither.
//!
//! | file | what it is |
//! |---|---|
//! | `workflow.rs` | the workflow and its activities: the page to read |
//! | `worker.rs` | the process that runs them |
//! | `shop.rs`, `ledger.rs`, `invoices.rs` | the services they call, each safe to call twice |
//! | `attempts.rs` | the log of attempts, evidence for the supervisor and the verifier |
//! | `supervisor.rs` | starts, kills and restarts the worker |
//! | `verify.rs`, `report.rs` | recompute everything from the outside, and say so |
//! | `orders.rs`, `data.rs`, `args.rs`, `dice.rs` | input, directory, command line, seeded chance |

mod args;
mod attempts;
mod data;
mod dice;
mod invoices;
mod ledger;
mod orders;
mod report;
mod shop;
mod supervisor;
mod verify;
mod worker;
mod workflow;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::args::{Args, Command};
use crate::data::DataDir;
use crate::dice::Dice;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Some(Command::Worker { data, seed }) => worker::run(&DataDir::new(data), seed).map(|()| true),
        None => supervise(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the job, and returns whether the verifier found everything in order.
fn supervise(args: &Args) -> Result<bool> {
    let (orders, stock) = orders::read(&args.orders, &args.stock())?;
    args.check_kills(orders.len())?;
    let data = DataDir::new(args.data.clone());
    let _claim = data.claim(args.fresh)?;
    data.keep_input(&args.orders, &args.stock())?;
    let seed = args.seed.unwrap_or_else(Dice::fresh_seed);
    println!("{} orders, seed {seed}, data in {}", orders.len(), data.path().display());

    let earlier = attempts::files(data.path())?;
    let job = supervisor::Job { data: &data, seed, kills: args.kills, steps: verify::steps(&orders, &stock) };
    let course = supervisor::run(&job)?;
    let evidence = verify::Evidence::gather(&data, orders, stock, &earlier)?;
    let verdict = verify::judge(&evidence);
    print!("{}", report::render(&verdict, &course));
    Ok(verdict.is_clean())
}
