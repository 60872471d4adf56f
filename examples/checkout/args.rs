//! The command line.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};

/// More kills than this say nothing that fewer do not.
const MAX_KILLS: u32 = 1000;

/// Runs a shop's checkout for every order of a CSV file, kills its own worker with SIGKILL on the way, and ends
/// with the report of a verifier that recomputes everything from the outside.
#[derive(Debug, Parser)]
#[command(name = "checkout", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The orders, as CSV: id, customer, email, sku, quantity, price of one in cents, card
    #[arg(long, value_name = "FILE", default_value_os_t = sample_orders())]
    pub(crate) orders: PathBuf,

    /// What is on hand, as CSV: sku and number [default: stock.csv beside the orders]
    #[arg(long, value_name = "FILE")]
    pub(crate) stock: Option<PathBuf>,

    /// How often the worker is killed on the way
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    pub(crate) kills: u32,

    /// Where all state lives; started again on the same directory, the run goes on where it was
    #[arg(long, value_name = "DIR", default_value = "checkout-data")]
    pub(crate) data: PathBuf,

    /// What chance is made of: when kills come, which calls to the ledger fail [default: random, printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Empty the data directory first
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// What the executable does instead of supervising.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The process that runs workflows; started, and killed, by the supervisor
    #[command(hide = true)]
    Worker {
        #[arg(long)]
        data: PathBuf,
        #[arg(long)]
        seed: u64,
    },
}

impl Args {
    /// The stock file that goes with the orders.
    pub(crate) fn stock(&self) -> PathBuf {
        self.stock.clone().unwrap_or_else(|| self.orders.with_file_name("stock.csv"))
    }

    /// Whether so many kills can each hit a running activity: an order has one to three.
    pub(crate) fn check_kills(&self, orders: usize) -> Result<()> {
        ensure!(self.kills <= MAX_KILLS, "--kills {}: at most {MAX_KILLS} are allowed", self.kills);
        ensure!(
            self.kills as usize <= orders,
            "--kills {}: the file holds {orders} orders, and there are at most as many kills as orders",
            self.kills
        );
        Ok(())
    }
}

/// The 200 orders that come with the example, wherever the command is started.
fn sample_orders() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "examples", "data", "orders.csv"].iter().collect()
}
