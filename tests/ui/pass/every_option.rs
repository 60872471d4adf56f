//! Every option, and every unit of a duration.

use durable::ActivityContext;

#[durable::activity(
    name = "all",
    start_to_close = "1500ms",
    schedule_to_close = "2d",
    retry(initial = "250us", max = "1h", coefficient = 1.5, max_attempts = 5, jitter = 0),
)]
async fn all(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity(start_to_close = "5m", retry(coefficient = 2, jitter = 1.0))]
async fn some(_ctx: &durable::ActivityContext) -> Result<(), String> {
    Ok(())
}

#[durable::activity()]
async fn none(_: &ActivityContext) -> std::result::Result<(), String> {
    Ok(())
}

fn main() {}
