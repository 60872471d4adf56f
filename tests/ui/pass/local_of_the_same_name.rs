//! The type under the fn's name is an empty enum, so a local of that name shadows the fn as usual.

use durable::{ActivityContext, WorkflowContext};

#[durable::activity]
async fn price(_ctx: &ActivityContext, order: u32) -> Result<u32, String> {
    Ok(order)
}

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext, price_limit: u32) -> Result<u32, String> {
    let price = price(ctx, 1).await.map_err(|_| "no price".to_owned())?;
    let checkout = price.min(price_limit);
    Ok(checkout)
}

fn main() {}
