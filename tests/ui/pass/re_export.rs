//! A re-export carries the type and the fn.

mod shop {
    pub mod steps {
        use durable::{ActivityContext, WorkflowContext};

        #[durable::activity]
        pub async fn pack(_ctx: &ActivityContext, order: u32) -> Result<u32, String> {
            Ok(order)
        }

        #[durable::workflow]
        pub(crate) async fn ship(ctx: &WorkflowContext, order: u32) -> Result<u32, String> {
            super::steps::pack(ctx, order).await.map_err(|_| "not packed".to_owned())
        }
    }
    pub use steps::pack;
    pub(crate) use steps::ship as send;
}

use durable::{Workflow, WorkflowContext};
use shop::{pack, send};

#[durable::workflow]
async fn order(ctx: &WorkflowContext) -> Result<bool, String> {
    Ok(pack(ctx, 1).await.is_ok() && send(ctx, 2).into_input() == 2)
}

fn registered<W: Workflow>() -> &'static str {
    W::NAME
}

fn main() {
    assert_eq!(registered::<send>(), "ship");
    assert_eq!(registered::<order>(), "order");
}
