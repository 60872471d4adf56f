use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    durable::select! {
        ctx.sleep(Duration::from_secs(1)) => Ok(1),
    }
}

#[durable::workflow]
async fn order(ctx: &WorkflowContext) -> Result<u32, String> {
    let second = Duration::from_secs(1);
    durable::select! {
        else => Ok(2),
        _ = ctx.sleep(second) => Ok(1),
    }
}

#[durable::workflow]
async fn empty(_ctx: &WorkflowContext) -> Result<u32, String> {
    durable::select! {}
}

fn main() {}
