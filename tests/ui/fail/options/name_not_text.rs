use durable::ActivityContext;

#[durable::activity(name = 5)]
async fn a0(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
