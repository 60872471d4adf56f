use std::time::Duration;

use durable::WorkflowContext;

macro_rules! my {
    ($first:ident, $second:expr) => {
        $second
    };
}

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let slept = my!(first, ctx.sleep(Duration::from_secs(1)).await);
    Ok(u32::from(slept.is_ok()))
}

fn main() {}
