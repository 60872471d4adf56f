use durable::ActivityContext;

#[durable::activity(start_to_close = 10)]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "10")]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "-5s")]
async fn a2(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
