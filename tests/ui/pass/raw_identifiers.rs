//! Raw identifiers are recorded without their `r#`, parameters also without leading underscores.

use durable::{Activity, ActivityContext, Workflow, WorkflowContext};

#[durable::activity]
async fn r#match(_ctx: &ActivityContext, r#type: u32, _later: bool) -> Result<u32, String> {
    Ok(r#type)
}

#[durable::workflow]
async fn r#loop(ctx: &WorkflowContext, r#fn: u32) -> Result<u32, String> {
    r#match(ctx, r#fn, true).await.map_err(|_| String::new())
}

fn main() {
    assert_eq!((r#match::NAME, r#loop::NAME), ("match", "loop"));
    assert_eq!(format!("{:?}", r#match::encode(&(1, true)).unwrap()), r#"{"type":1,"later":true}"#);
    assert_eq!(format!("{:?}", r#loop::encode(&2).unwrap()), r#"{"fn":2}"#);
}
