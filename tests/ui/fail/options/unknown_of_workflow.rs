use durable::WorkflowContext;

#[durable::workflow(start_to_close = "10s")]
async fn checkout(_ctx: &WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
