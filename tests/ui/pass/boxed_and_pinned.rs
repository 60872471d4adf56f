//! Boxed durable futures, `pin!`, `&mut future`, and futures held in a local.

use std::pin::{Pin, pin};
use std::time::Duration;

use durable::{DurableFuture, WorkflowContext};

type Boxed<'a> = Pin<Box<dyn DurableFuture<Output = bool> + 'a>>;

#[durable::workflow]
async fn boxed(ctx: &WorkflowContext) -> Result<usize, String> {
    let mut all: Vec<Boxed<'_>> = Vec::new();
    all.push(Box::pin(async { ctx.sleep(Duration::from_secs(1)).await.is_ok() }));
    all.push(Box::pin(async { false }));
    let mut done = 0;
    for one in all {
        done += usize::from(one.await);
    }
    let mut pinned = pin!(async { 3_usize });
    done += (&mut pinned).await;
    let mut other = Box::pin(async { 4_usize });
    done += other.as_mut().await;
    Ok(done)
}

fn main() {}
