use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let both = durable::join!(async { tokio::task::yield_now().await }, async { 1 });
    Ok(both.1)
}

fn main() {}
