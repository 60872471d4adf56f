use durable::WorkflowContext;

#[durable::workflow]
async fn checkout(ctx: &WorkflowContext) -> Result<u32, String> {
    let _ = ctx;
    let stream = tokio::net::TcpStream::connect("127.0.0.1:80").await;
    Ok(u32::from(stream.is_ok()))
}

fn main() {}
