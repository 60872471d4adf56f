use std::sync::{Arc, RwLock};

use durable::WorkflowContext;

type Shared = Arc<RwLock<u32>>;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, stock: Shared) -> Result<(), String> {
    Ok(drop(stock))
}

fn main() {}
