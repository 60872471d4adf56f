use durable::WorkflowContext;

#[durable::workflow]
#[durable::helper]
async fn checkout(_ctx: &WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
