use durable::WorkflowContext;

#[durable::workflow(name = "", retries = 3)]
fn checkout<T>(ctx: &WorkflowContext, (a, b): (u32, u32), order: &str) {
    let _ = (ctx, a, b, order);
}

fn main() {}
