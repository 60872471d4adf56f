use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use durable::WorkflowContext;

type Shared = Arc<Mutex<u32>>;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, stock: Arc<Mutex<u32>>, alias: Shared) -> Result<(), String> {
    Ok(drop((stock, alias)))
}

#[durable::workflow]
async fn count(_ctx: &WorkflowContext, sold: AtomicU32) -> Result<Rc<u32>, String> {
    Ok(Rc::new(sold.into_inner()))
}

fn main() {}
