use durable::WorkflowContext;

#[durable::workflow]
async fn checkout<'a>(_ctx: &'a WorkflowContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
