use std::sync::{Arc, Mutex};

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, stock: Arc<Mutex<u32>>) -> Result<(), String> {
    Ok(drop(stock))
}

fn main() {}
