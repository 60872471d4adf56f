use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let ctx = ctx.clone();
    drop(tokio::spawn(async move { ctx.sleep(Duration::ZERO).await.is_ok() }));
    Ok(1)
}

fn main() {}
