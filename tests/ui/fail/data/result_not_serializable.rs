use durable::WorkflowContext;

struct Receipt;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext) -> Result<Receipt, String> {
    Ok(Receipt)
}

fn main() {}
