use durable::WorkflowContext;

#[durable::workflow]
fn checkout(_ctx: &WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
