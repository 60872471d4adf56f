use durable::{ActivityContext, WorkflowContext};

#[durable::activity]
async fn charge(_ctx: &ActivityContext, order: String, cents: u64) -> Result<u64, String> {
    Ok(order.len() as u64 + cents)
}

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<bool, String> {
    Ok(charge("order".to_owned(), 5).await.is_ok())
}

fn main() {}
