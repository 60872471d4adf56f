use durable::ActivityContext;

#[durable::activity(start_to_close = "36501d")]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "0s")]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
