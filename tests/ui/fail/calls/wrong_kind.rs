use durable::{Activity, ActivityContext, Workflow};

#[durable::activity]
async fn charge(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn register<W: Workflow>() {}
fn provide<A: Activity>() {}

fn main() {
    provide::<charge>();
    register::<charge>();
}
