use durable::WorkflowContext;

async fn price(_ctx: &WorkflowContext) -> u32 {
    7
}

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    Ok(price(ctx).await)
}

fn main() {}
