use durable::{Activity, ActivityContext, Workflow, WorkflowContext};

#[durable::activity]
async fn charge(_ctx: &ActivityContext, order: &str, cents: u64) -> Result<u64, String> {
    Ok(order.len() as u64 + cents)
}

#[durable::workflow]
fn child(ctx: &WorkflowContext, order: String) -> Result<bool, String> {
    Ok(charge(ctx, &order, 7).await.is_ok())
}

#[durable::workflow]
async fn parent(ctx: &WorkflowContext) -> Result<u64, String> {
    let fine = !child(ctx, "order".to_owned()).into_input().is_empty();
    let charged: u64 = charge(ctx, "order", u64::from(fine)).await.map_err(|_| String::new())?;
    Ok(charged)
}

fn register<W: Workflow, A: Activity>() {}

fn main() {
    register::<child, charge>();
    register::<parent, charge>();
    drop(child::encode(&"order".to_owned()));
}
