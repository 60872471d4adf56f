//! Awaits in every place an expression can stand.

use std::time::Duration;

use durable::{ActivityContext, WorkflowContext};

#[durable::activity]
async fn step(_ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    Ok(n)
}

#[durable::workflow]
async fn control(ctx: &WorkflowContext, mut n: u32) -> Result<u32, String> {
    let call = step(ctx, n);
    match call.await {
        Ok(0) if step(ctx, 0).await.is_ok() => return Ok(0),
        Ok(one @ 1..=9) => n += step(ctx, one).await.unwrap_or(1),
        Ok(_) => {}
        Err(_) => return Err("failed".to_owned()),
    }
    if let Ok(more) = step(ctx, n).await
        && more > 3
    {
        n += more;
    }
    let Ok(other) = step(ctx, n).await else { return Ok(1) };
    while step(ctx, n).await.is_ok_and(|left| left > 0) {
        n -= 1;
    }
    let found = 'search: loop {
        for i in 0..step(ctx, 3).await.unwrap_or(0) {
            if i == n {
                break 'search Some(i);
            }
        }
        break None;
    };
    let list = [step(ctx, 1).await.is_ok(), { ctx.sleep(Duration::ZERO).await.is_ok() }];
    let bound = async { step(ctx, 2).await.ok() };
    Ok(u32::from(list[0]) + found.unwrap_or(other) + bound.await.unwrap_or(-(1_i32) as u32))
}

fn main() {}
