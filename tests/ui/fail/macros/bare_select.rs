use std::time::Duration;

use durable::{WorkflowContext, select};

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    select! {
        _ = ctx.sleep(Duration::from_secs(1)) => Ok(1),
    }
}

fn main() {}
