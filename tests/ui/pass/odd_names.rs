//! Names that generated code might use itself.

use durable::{Workflow, WorkflowContext};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ArgCodec<T>(T);

#[allow(dead_code)]
struct Result2;
#[allow(dead_code)]
enum Option {}
#[allow(dead_code)]
fn block() {}
#[allow(dead_code)]
fn check() {}

#[durable::workflow]
async fn body(c: &WorkflowContext, ctx: ArgCodec<u8>, input: u8, probe: u8, error: u8, payload: u8) -> Result<u8, String> {
    let report = async { input + probe + error + payload + ctx.0 };
    c.sleep(std::time::Duration::from_secs(1)).await.ok();
    Ok(report.await)
}

fn main() {
    let payload = body::encode(&(ArgCodec(1), 2, 3, 4, 5)).unwrap();
    assert_eq!(format!("{payload:?}"), r#"{"ctx":1,"input":2,"probe":3,"error":4,"payload":5}"#);
    assert_eq!(body::decode(&payload).unwrap(), (ArgCodec(1), 2, 3, 4, 5));
}
