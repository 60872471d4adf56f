use durable::ActivityContext;

#[durable::activity(retry(jitter = 1.5))]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(jitter = -0.1))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
