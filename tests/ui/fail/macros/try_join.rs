use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let both = tokio::try_join!(ctx.sleep(Duration::from_secs(1)), ctx.sleep(Duration::from_secs(2)));
    Ok(u32::from(both.is_ok()))
}

fn main() {}
