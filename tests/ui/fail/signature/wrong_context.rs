use durable::{ActivityContext, WorkflowContext};

#[durable::workflow]
async fn checkout(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity]
async fn charge(_ctx: &WorkflowContext) -> Result<(), String> {
    Ok(())
}

#[durable::workflow]
async fn owned(_ctx: WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
