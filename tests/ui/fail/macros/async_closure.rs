use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let wait = async |secs: u64| {
        let _ = ctx.sleep(Duration::from_secs(secs)).await;
    };
    wait(1).await;
    Ok(1)
}

fn main() {}
