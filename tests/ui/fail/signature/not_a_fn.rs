#[durable::workflow]
struct Checkout;

#[durable::activity]
mod steps {}

#[durable::helper]
const LIMIT: u32 = 1;

fn main() {
    let _ = (Checkout, LIMIT);
}
