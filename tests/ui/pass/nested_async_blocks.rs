//! Async blocks are durable futures, at any depth, and closures may return them.

use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn nested(ctx: &WorkflowContext, names: Vec<String>) -> Result<usize, String> {
    let inner = async {
        let deep = async move { ctx.sleep(Duration::from_secs(1)).await.is_ok() };
        deep.await
    };
    let mut total = usize::from(inner.await);
    let measure = |name: String| async move {
        let _ = ctx.sleep(Duration::from_secs(1)).await;
        name.len()
    };
    for name in names {
        total += measure(name).await;
    }
    let pair = durable::join!(async { 1 }, async move { (|x: usize| async move { x })(2).await });
    Ok(total + pair.0 + pair.1)
}

fn main() {}
