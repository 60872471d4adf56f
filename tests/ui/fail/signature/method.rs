use durable::WorkflowContext;

struct Shop;

impl Shop {
    #[durable::workflow]
    async fn checkout(&self, _ctx: &WorkflowContext) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
