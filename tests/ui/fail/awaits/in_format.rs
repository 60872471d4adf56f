use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let text = format!("{}", std::future::ready(1).await);
    Ok(text.len() as u32)
}

fn main() {}
