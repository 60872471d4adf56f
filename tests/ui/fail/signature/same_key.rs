use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, order: u32, _order: u32) -> Result<u32, String> {
    Ok(order)
}

fn main() {}
