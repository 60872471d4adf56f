use std::future::Future;
use std::pin::Pin;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let boxed: Pin<Box<dyn Future<Output = u32>>> = Box::pin(async { 1 });
    Ok(boxed.await)
}

fn main() {}
