use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, order: impl Into<String>) -> Result<(), String> {
    Ok(drop(order.into()))
}

fn main() {}
