//! `name = "…"` changes the recorded name and nothing else.

use durable::{Activity, ActivityContext, Workflow, WorkflowContext};

#[durable::activity(name = "payments/charge v2")]
async fn charge(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::workflow(name = "checkout")]
async fn checkout_2(ctx: &WorkflowContext) -> Result<(), String> {
    charge(ctx).await.map_err(|_| "failed".to_owned())
}

fn main() {
    assert_eq!(charge::NAME, "payments/charge v2");
    assert_eq!(checkout_2::NAME, "checkout");
}
