//! Types as private as the fn, also inside a fn body.

use durable::{Workflow, WorkflowContext};
use serde::{Deserialize, Serialize};

mod inner {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Order(u32);

    #[durable::workflow]
    async fn checkout(_ctx: &WorkflowContext, order: Order) -> Result<Order, String> {
        Ok(order)
    }

    pub fn name() -> &'static str {
        let payload = checkout::encode(&Order(1)).unwrap();
        assert_eq!(checkout::decode(&payload).unwrap(), Order(1));
        checkout::NAME
    }
}

fn main() {
    #[derive(Serialize, Deserialize)]
    struct Local;

    #[durable::workflow]
    async fn local(_ctx: &WorkflowContext, local: Local) -> Result<Local, String> {
        Ok(local)
    }

    assert_eq!((inner::name(), local::NAME), ("checkout", "local"));
}
