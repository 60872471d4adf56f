use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(order: u32, _ctx: &WorkflowContext) -> Result<(), String> {
    Ok(drop(order))
}

fn main() {}
