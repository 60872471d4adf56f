use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    match ctx.sleep(Duration::from_secs(1)).await {
        Ok(()) => Ok(1),
        Err(_) => {
            tokio::task::yield_now().await;
            Ok(0)
        }
    }
}

fn main() {}
