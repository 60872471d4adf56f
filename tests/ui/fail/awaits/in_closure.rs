use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let wait = |secs: u64| async move {
        tokio::time::sleep(Duration::from_secs(secs)).await;
    };
    wait(1).await;
    Ok(1)
}

fn main() {}
