use std::rc::Rc;

use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext, stock: u32) -> Result<Rc<u32>, String> {
    Ok(Rc::new(stock))
}

fn main() {}
