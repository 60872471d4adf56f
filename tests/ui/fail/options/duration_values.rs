use durable::ActivityContext;

#[durable::activity(schedule_to_close = "")]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "1h30m")]
async fn a1(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "1.5s")]
async fn a2(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
