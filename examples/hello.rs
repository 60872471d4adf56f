//! The smallest durable program: a greeting that is sent once, however often the process dies.
//!
//! `cargo run --example hello`. Stop it during the wait and start it again: it goes on where it was.

use std::time::Duration;

use durable::prelude::*;

/// Does the I/O: may run more than once, so a real one would pass `ctx.idempotency_key()` along.
#[activity(start_to_close = "5s", retry(max_attempts = 3, initial = "100ms"))]
async fn greet(ctx: &ActivityContext, name: String) -> Result<String, String> {
    println!("greeting {name} (attempt {})", ctx.attempt());
    Ok(format!("Hello, {name}!"))
}

/// Decides: every await in here survives a crash.
#[workflow]
async fn hello(ctx: &WorkflowContext, name: String) -> Result<String, WorkflowError> {
    let greeting = greet(ctx, name).await?;
    ctx.sleep(Duration::from_secs(2)).await?;
    Ok(greeting)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let durable = Durable::connect("sqlite:hello.db").await?;
    let worker = durable.worker().workflow::<hello>().activity::<greet>().start().await?;
    let run = durable.client().start::<hello>("hello-world", "world".to_owned()).await?;
    println!("{}", run.result().await?);
    worker.shutdown().await;
    Ok(())
}
