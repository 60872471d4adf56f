use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<u32>(1);
    drop(sender);
    Ok(receiver.recv().await.unwrap_or(0))
}

fn main() {}
