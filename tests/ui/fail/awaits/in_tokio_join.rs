use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let (slept, _) = tokio::join!(ctx.sleep(Duration::from_secs(1)), tokio::time::sleep(Duration::from_secs(1)));
    Ok(u32::from(slept.is_ok()))
}

fn main() {}
