use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let task = tokio::spawn(async { 1 });
    Ok(task.await.unwrap_or(0))
}

fn main() {}
