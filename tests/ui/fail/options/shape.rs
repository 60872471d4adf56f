use durable::ActivityContext;

#[durable::activity(start_to_close)]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry = 5)]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(name("x"))]
async fn a2(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
