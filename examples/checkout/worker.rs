//! The worker process: serves workflows and activities, submits every order, and leaves when all have ended.
//!
//! It may die at any line. Started again, it submits the same orders under the same ids: what has ended is not
//! repeated, what was under way goes on.

use std::collections::VecDeque;
use std::io::Read;

use anyhow::{Context, Result, bail};
use durable::prelude::*;

use crate::attempts::AttemptLog;
use crate::data::DataDir;
use crate::invoices::Invoices;
use crate::ledger::Ledger;
use crate::orders::{self, Order};
use crate::shop::Shop;
use crate::workflow::{CheckoutError, charge_card, checkout, release_stock, reserve_stock, write_invoice};

/// Orders under way at once: like customers, they do not all come in the same second.
const ORDERS_AT_ONCE: usize = 24;

/// Runs until every order has ended.
pub(crate) fn run(data: &DataDir, seed: u64) -> Result<()> {
    exit_with_parent();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(data, seed))
}

async fn serve(data: &DataDir, seed: u64) -> Result<()> {
    let (orders, stock) = orders::read(&data.orders(), &data.stock())?;
    // First of all, since it waits until a predecessor that is still dying is gone.
    let ledger = Ledger::open(&data.ledger(), seed).context("the ledger")?;
    let shop = Shop::open(&data.shop(), &stock, seed).await.context("the shop's database")?;

    let durable = Durable::connect(&data.durable_url()).await?;
    let worker = durable
        .worker()
        .slot("checkout")
        .state(shop)
        .state(ledger)
        .state(Invoices::open(data.invoices())?)
        .state(AttemptLog::create(data.path()).context("the attempt log")?)
        .workflow::<checkout>()
        .activity::<reserve_stock>()
        .activity::<release_stock>()
        .activity::<charge_card>()
        .activity::<write_invoice>()
        .start()
        .await?;
    submit_all(&durable, orders).await?;
    worker.shutdown().await;
    Ok(())
}

/// Keeps a window of orders under way until the last has ended.
async fn submit_all(durable: &Durable, orders: Vec<Order>) -> Result<()> {
    let mut under_way = VecDeque::new();
    for order in orders {
        if under_way.len() == ORDERS_AT_ONCE {
            settle(under_way.pop_front()).await?;
        }
        let id = order.workflow_id();
        let run =
            durable.client().start::<checkout>(&id, order).await.with_context(|| format!("starting {id}"))?;
        under_way.push_back((id, run));
    }
    while !under_way.is_empty() {
        settle(under_way.pop_front()).await?;
    }
    Ok(())
}

/// Waits for one order, and takes only the ends that an order can have for the customer's own reasons.
async fn settle(run: Option<(String, WorkflowHandle<checkout>)>) -> Result<()> {
    let Some((id, run)) = run else { return Ok(()) };
    match run.result().await {
        Ok(_)
        | Err(RunError::Failed { error: CheckoutError::OutOfStock(_) | CheckoutError::Refused(_), .. }) => {
            Ok(())
        }
        Err(error) => bail!("{id} ended without an answer: {error}"),
    }
}

/// The supervisor holds the other end of standard input. When it dies, whatever the way, so does this process:
/// an orphan would go on working beside its successor.
fn exit_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
}
