//! Several arguments, none, one; the input is `()`, `T` or a tuple, recorded as one object by name.

use durable::{Activity, ActivityContext, Workflow, WorkflowContext};

#[durable::activity(start_to_close = "10s", retry(max_attempts = 5, initial = "200ms"))]
async fn charge_card(_ctx: &ActivityContext, order: String, cents: u64) -> Result<u64, String> {
    Ok(order.len() as u64 + cents)
}

#[durable::activity]
async fn ping(_: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext, order: String, cents: u64, gift: bool) -> Result<u64, String> {
    ping(ctx).await.map_err(|error| error.to_string())?;
    if gift {
        return Ok(0);
    }
    let charged = charge_card(ctx, order.clone(), cents).await.map_err(|error| error.to_string())?;
    Ok(charged + 1)
}

#[durable::workflow]
async fn parent(ctx: &WorkflowContext, order: String) -> Result<u64, String> {
    Ok(checkout(ctx, order, 5, false).into_input().1)
}

fn main() {
    let input = ("a".to_owned(), 7, true);
    let payload = checkout::encode(&input).unwrap();
    assert_eq!(format!("{payload:?}"), r#"{"order":"a","cents":7,"gift":true}"#);
    assert_eq!(checkout::decode(&payload).unwrap(), input);
    assert_eq!(format!("{:?}", ping::encode(&()).unwrap()), "{}");
    assert_eq!(format!("{:?}", parent::encode(&"x".to_owned()).unwrap()), r#"{"order":"x"}"#);
    assert_eq!((checkout::NAME, ping::NAME, charge_card::NAME), ("checkout", "ping", "charge_card"));
}
