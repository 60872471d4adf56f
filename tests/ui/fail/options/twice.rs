use durable::ActivityContext;

#[durable::activity(name = "a", name = "b")]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(retry(max = "1m", max = "2m"))]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
