use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &mut WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
