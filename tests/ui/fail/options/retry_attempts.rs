use durable::ActivityContext;

#[durable::activity(retry(max_attempts = 0))]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(max_attempts = -1))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(max_attempts = "5"))]
async fn a2(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
