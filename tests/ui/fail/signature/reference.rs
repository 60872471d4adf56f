use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(
    _ctx: &WorkflowContext,
    order: &str,
    notes: Option<Vec<&'static str>>,
    name: std::borrow::Cow<'_, str>,
) -> Result<(), String> {
    Ok(drop((order, notes, name)))
}

fn main() {}
