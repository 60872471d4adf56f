//! Branches with everything that tokio's macro takes, in handlers that leave the fn or a loop, in helpers, nested.

use std::time::Duration;

use durable::prelude::*;

#[activity]
async fn charge(_ctx: &ActivityContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

#[durable::helper]
async fn no_longer_than(ctx: &WorkflowContext, limit: Duration) -> Option<u64> {
    durable::select! {
        Ok(charged) = charge(ctx, 1) => Some(charged),
        _ = ctx.sleep(limit) => None,
        else => None,
    }
}

#[workflow]
async fn everything(ctx: &WorkflowContext, names: Vec<String>) -> Result<u64, WorkflowError> {
    let mut call = charge(ctx, 5).into_future();
    let mut rounds = 0_u64;
    let charged = loop {
        ::durable::select! {
            biased;
            Ok(mut value) | Err(ActivityError { activity_id: Some(mut value), .. }) = &mut call => {
                value += 1;
                break value;
            }
            slept = ctx.sleep(Duration::from_secs(1)), if rounds < 3 => match slept {
                Ok(()) => rounds += 1,
                Err(cancelled) => return Err(cancelled.into()),
            },
            longest = no_longer_than(ctx, Duration::from_secs(9)) => {
                if longest.is_none() {
                    continue;
                }
                ctx.sleep(Duration::ZERO).await?
            },
        }
    };
    // A statement without a semicolon, names that are borrowed, and a value that is no `Copy`.
    durable::select! {
        _ = ctx.sleep(Duration::ZERO) => {}
    }
    let first: &str = durable::select! {
        name = async { names.first() } => name.map_or("nobody", String::as_str),
    };
    let (one, two) = durable::try_join!(charge(ctx, first.len() as u64), charge(ctx, 2))?;
    let three = tokio::try_join!(charge(ctx, 3))?.0;
    let all = durable::try_join_all((0..3).map(|n| charge(ctx, n))).await?;
    let mapped = durable::map_concurrent(all, 2, |n| async move { charge(ctx, n).await }).await;
    let waited = ctx.timeout(Duration::from_secs(1), ctx.wait_until(|| true)).await??;
    Ok(charged + one + two + three + mapped.len() as u64 + u64::from(waited == ()))
}

fn main() {}
