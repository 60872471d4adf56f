use durable::ActivityContext;

#[durable::activity(retry(initial = "2m", max = "1m"))]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(max = "500ms"))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
