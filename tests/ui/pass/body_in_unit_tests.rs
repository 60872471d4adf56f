//! A workflow's body can be called with a context of a test, and awaited by a workflow or helper.

use durable::WorkflowContext;

#[durable::workflow]
async fn inner(_ctx: &WorkflowContext, a: u32, b: u32) -> Result<u32, String> {
    Ok(a + b)
}

#[durable::workflow]
async fn outer(ctx: &WorkflowContext) -> Result<u32, String> {
    inner::body(ctx, 1, 2).await
}

#[durable::helper]
async fn both(ctx: &WorkflowContext) -> u32 {
    inner::body(ctx, 1, 2).await.unwrap_or(0) + outer::body(ctx).await.unwrap_or(0)
}

fn main() {
    let _ = both;
}
