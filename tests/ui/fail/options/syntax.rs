use durable::ActivityContext;

#[durable::activity("charge")]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(name = )]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
