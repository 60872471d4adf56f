use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    durable::select! {
        _ = ctx.sleep(Duration::from_secs(1)) => Ok(1),
        _ = tokio::time::sleep(Duration::from_secs(2)) => Ok(2),
    }
}

fn main() {}
