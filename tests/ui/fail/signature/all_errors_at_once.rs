use durable::WorkflowContext;

#[durable::workflow(retries = 3)]
async fn checkout(_ctx: &WorkflowContext, (a, b): (u32, u32), order: &str) -> Result<usize, String> {
    Ok(order.len() + a as usize + b as usize)
}

fn main() {}
