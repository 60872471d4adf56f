//! The standard expression macros are looked into; others are left alone where nothing is awaited.

use durable::{ActivityContext, WorkflowContext};

#[durable::activity]
async fn name(_ctx: &ActivityContext, id: u32) -> Result<String, String> {
    Ok(id.to_string())
}

macro_rules! mine {
    ($($t:tt)*) => { stringify!($($t)*).len() };
}

#[durable::workflow]
async fn greet(ctx: &WorkflowContext, id: u32) -> Result<String, String> {
    let text = format!("{} {id} {again}", name(ctx, id).await.is_ok(), again = name(ctx, 1).await.is_ok());
    println!("{}", name(ctx, id).await.is_ok());
    assert!(name(ctx, id).await.is_ok(), "no name for {id}");
    assert_eq!(1, name(ctx, id).await.map_or(1, |_| 1));
    let all = vec![name(ctx, 1).await.is_ok(), async { true }.await];
    let same = vec![name(ctx, 1).await.is_ok(); 3];
    let empty: Vec<bool> = vec![];
    let is_one = matches!(name(ctx, 1).await, Ok(ref text) if text.len() == name(ctx, 2).await.map_or(0, |n| n.len()));
    let pinned = std::pin::pin!(async { 1 });
    let size = mine!(async move { x }) + pinned.await;
    Ok(format!("{text} {} {} {} {is_one} {size}", all.len(), same.len(), empty.len()))
}

fn main() {}
