//! A deploy under runs that are under way: what would break them is found before it is deployed, and made safe.
//!
//! `cargo run --example upgrade`. The three modules are three builds of one program; a real one would be its commits.

use std::time::Duration;

use durable::prelude::*;
use durable::replay::Replayer;
use tokio::sync::mpsc;

#[activity]
async fn charge(ctx: &ActivityContext, cents: u64) -> Result<u64, String> {
    println!("    charged {cents} for {}", ctx.workflow_id());
    if let Some(charged) = ctx.try_state::<mpsc::UnboundedSender<()>>() {
        charged.send(()).map_err(|error| error.to_string())?;
    }
    Ok(cents)
}

#[activity]
async fn ship(ctx: &ActivityContext) -> Result<String, String> {
    println!("    shipped {}", ctx.workflow_id());
    Ok(format!("parcel of {}", ctx.workflow_id()))
}

/// What runs today: charge, wait, ship.
mod version_1 {
    use super::{Duration, WorkflowContext, WorkflowError, charge, ship, workflow};

    #[workflow]
    pub(crate) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<String, WorkflowError> {
        charge(ctx, cents).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(ship(ctx).await?)
    }
}

/// What somebody wants to deploy: ship first, charge later. Orders under way have been charged already.
mod version_2_as_written {
    use super::{Duration, WorkflowContext, WorkflowError, charge, ship, workflow};

    #[workflow]
    pub(crate) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<String, WorkflowError> {
        let parcel = ship(ctx).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        charge(ctx, cents).await?;
        Ok(parcel)
    }
}

/// The same, with a path for the orders that have begun.
mod version_2 {
    use super::{Duration, WorkflowContext, WorkflowError, charge, ship, workflow};

    #[workflow]
    pub(crate) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<String, WorkflowError> {
        if ctx.version("ship-first", 1..=2) == 1 {
            charge(ctx, cents).await?;
            ctx.sleep(Duration::from_secs(1)).await?;
            return Ok(ship(ctx).await?);
        }
        let parcel = ship(ctx).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        charge(ctx, cents).await?;
        Ok(parcel)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // A database of its own each time: the story has a beginning.
    let folder = tempfile::tempdir()?;
    let durable = Durable::connect(&format!("sqlite:{}", folder.path().join("upgrade.db").display())).await?;
    let client = durable.client();

    println!("version 1 runs, with two orders under way:");
    let (charged, mut signals) = mpsc::unbounded_channel::<()>();
    let worker = durable.worker().workflow::<version_1::order>().activity::<charge>().activity::<ship>();
    let worker = worker.state(charged).build_id("1").start().await?;
    let mut orders = Vec::new();
    for name in ["order-1", "order-2"] {
        orders.push(client.start::<version_1::order>(name, 1999).await?);
        signals.recv().await;
    }
    worker.shutdown().await;

    println!("version 2 as written, checked against them:");
    let report = Replayer::new().workflow::<version_2_as_written::order>().open_runs(&client).await?;
    println!("{report}");
    anyhow::ensure!(!report.all_fit(), "the check has to find it");

    println!("version 2 with `ctx.version`, checked against them:");
    let report = Replayer::new().workflow::<version_2::order>().open_runs(&client).await?;
    println!("{report}");
    anyhow::ensure!(report.all_fit(), "this one is safe");

    println!("version 2 runs, with an order more:");
    let worker = durable.worker().workflow::<version_2::order>().activity::<charge>().activity::<ship>();
    let worker = worker.build_id("2").start().await?;
    let new = client.start::<version_2::order>("order-3", 2999).await?;
    for order in &orders {
        println!("{}", order.result().await?);
    }
    println!("{}", new.result().await?);
    worker.shutdown().await;
    Ok(())
}
