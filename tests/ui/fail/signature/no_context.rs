#[durable::workflow]
async fn checkout() -> Result<(), String> {
    Ok(())
}

fn main() {}
