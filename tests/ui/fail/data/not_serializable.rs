use durable::WorkflowContext;

struct Order;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, order: Order) -> Result<(), String> {
    Ok(drop(order))
}

fn main() {}
