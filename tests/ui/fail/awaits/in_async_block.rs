use std::time::Duration;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let outer = async {
        let inner = async move {
            let _ = ctx;
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        inner.await;
    };
    outer.await;
    Ok(1)
}

fn main() {}
