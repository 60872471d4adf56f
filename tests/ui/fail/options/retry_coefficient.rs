use durable::ActivityContext;

#[durable::activity(retry(coefficient = 0.5))]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(coefficient = "2"))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(coefficient = -1))]
async fn a2(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
