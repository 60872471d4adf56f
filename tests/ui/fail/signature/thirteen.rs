use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(
    _ctx: &WorkflowContext,
    a1: u8,
    a2: u8,
    a3: u8,
    a4: u8,
    a5: u8,
    a6: u8,
    a7: u8,
    a8: u8,
    a9: u8,
    a10: u8,
    a11: u8,
    a12: u8,
    a13: u8,
) -> Result<u8, String> {
    Ok(a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12 + a13)
}

fn main() {}
