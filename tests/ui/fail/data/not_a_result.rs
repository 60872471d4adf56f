use durable::WorkflowContext;

struct Outcome;

#[durable::workflow]
async fn checkout(_ctx: &WorkflowContext) -> Outcome {
    Outcome
}

fn main() {}
