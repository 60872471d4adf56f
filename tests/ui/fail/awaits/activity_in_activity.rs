use durable::ActivityContext;

#[durable::activity]
async fn inner(_ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    Ok(n)
}

#[durable::activity]
async fn outer(ctx: &ActivityContext) -> Result<u32, String> {
    let call = inner(ctx, 1);
    drop(call);
    Ok(1)
}

fn main() {}
