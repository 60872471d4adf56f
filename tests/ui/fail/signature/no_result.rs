use durable::{ActivityContext, WorkflowContext};

#[durable::workflow]
async fn nothing(_ctx: &WorkflowContext) {}

#[durable::workflow]
async fn unit(_ctx: &WorkflowContext) -> () {}

#[durable::activity]
async fn plain(_ctx: &ActivityContext, n: u32) -> Option<u32> {
    Some(n)
}

fn main() {}
