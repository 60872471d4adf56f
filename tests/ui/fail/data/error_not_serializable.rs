use durable::ActivityContext;

#[durable::activity]
async fn read(_ctx: &ActivityContext) -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
