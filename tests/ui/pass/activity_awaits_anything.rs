//! An activity's body is ordinary async code; its body can be called in a unit test.

use durable::ActivityContext;

async fn plain() -> u32 {
    3
}

#[durable::activity]
async fn io(_ctx: &ActivityContext, text: String) -> Result<u32, String> {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let joined = tokio::join!(plain(), async { text.len() });
    let handle = tokio::spawn(async { plain().await });
    tokio::select! {
        n = handle => n.map_err(|error| error.to_string()),
        () = std::future::pending() => Ok(joined.0),
    }
}

async fn unit_test(ctx: &ActivityContext) -> Result<u32, String> {
    io::body(ctx, "a".to_owned()).await
}

fn main() {
    let _ = unit_test;
}
