use std::sync::atomic::AtomicU32;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, stock: AtomicU32) -> Result<u32, String> {
    Ok(stock.into_inner())
}

fn main() {}
