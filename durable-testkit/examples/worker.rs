//! The smallest program with a worker: it starts, does nothing, and ends. Built with `panic = "abort"` it is refused.

use std::process::ExitCode;
use std::sync::Arc;

use durable_core::runtime::Durable;
use durable_core::time::SystemClock;
use durable_testkit::MemoryProvider;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let durable = Durable::new(Arc::new(MemoryProvider::new()), Arc::new(SystemClock::new()));
    match durable.worker().build_id("one").start().await {
        Ok(worker) => {
            worker.shutdown().await;
            println!("the worker started");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
