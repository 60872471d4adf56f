use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    durable::select! {
        _ = ctx.sleep(Duration::from_secs(1)) => {
            tokio::task::yield_now().await;
            Ok(1)
        }
        else => Ok(2),
    }
}

fn main() {}
