use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    durable::join!(let x = 1);
    Ok(1)
}

fn main() {}
