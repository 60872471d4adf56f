use durable::ActivityContext;

#[durable::activity(timeout = "10s")]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(attempts = 5))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
