use durable::WorkflowContext;

#[durable::workflow]
async fn checkout<T>(_ctx: &WorkflowContext, order: T) -> Result<(), String> {
    Ok(drop(order))
}

fn main() {}
