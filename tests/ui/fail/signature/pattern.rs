use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, (a, b): (u32, u32), _: bool) -> Result<(), String> {
    Ok(drop((a, b)))
}

fn main() {}
