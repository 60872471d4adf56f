use std::rc::Rc;

use durable::ActivityContext;

#[durable::activity]
async fn hold(_ctx: &ActivityContext) -> Result<(), String> {
    let shared = Rc::new(1);
    tokio::task::yield_now().await;
    Ok(drop(shared))
}

fn main() {}
