use durable::{ActivityContext, WorkflowContext};

#[durable::workflow]
async unsafe fn unsafe_one(_ctx: &WorkflowContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity]
async extern "C" fn extern_one(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
