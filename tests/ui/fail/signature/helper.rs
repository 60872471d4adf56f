#[durable::helper(name = "x")]
async fn named() {}

#[durable::helper]
fn plain() {}

fn main() {
    plain();
    let _ = named();
}
