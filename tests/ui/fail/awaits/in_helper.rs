use durable::WorkflowContext;

#[durable::helper]
async fn pause(_ctx: &WorkflowContext, secs: u64) -> u64 {
    tokio::time::sleep(std::time::Duration::from_secs(secs)).await;
    secs
}

fn main() {}
