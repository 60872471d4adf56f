use durable::{ActivityContext, WorkflowContext};

struct Receipt;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext) -> Result<Receipt, String> {
    Ok(Receipt)
}

#[durable::activity]
async fn read(_ctx: &ActivityContext) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
