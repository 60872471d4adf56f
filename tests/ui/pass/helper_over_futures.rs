//! Helpers that take durable futures, by bound and by `impl`, and closures that return them.

use durable::{ActivityContext, DurableFuture, WorkflowContext};

#[durable::activity]
async fn step(_ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    Ok(n)
}

#[durable::helper]
async fn first_ok<F, T, E>(first: F, second: impl DurableFuture<Output = Result<T, E>>) -> Result<T, E>
where
    F: DurableFuture<Output = Result<T, E>>,
{
    match first.await {
        Ok(value) => Ok(value),
        Err(_) => second.await,
    }
}

#[durable::helper]
async fn twice<F: DurableFuture<Output = bool>>(make: impl Fn(u32) -> F) -> bool {
    make(1).await && make(2).await
}

#[durable::workflow]
async fn both(ctx: &WorkflowContext) -> Result<bool, String> {
    let found = first_ok(step(ctx, 1).into_future(), step(ctx, 2).into_future()).await.is_ok();
    Ok(found && twice(|n| async move { step(ctx, n).await.is_ok() }).await)
}

fn main() {}
