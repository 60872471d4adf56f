//! Attributes inside the user's `macro_rules!`, with names and types passed in.

use durable::{ActivityContext, Workflow, WorkflowContext};

macro_rules! echo {
    ($activity:ident, $workflow:ident, $ty:ty, $result:ty, $limit:literal) => {
        #[durable::activity(start_to_close = $limit)]
        async fn $activity(_ctx: &ActivityContext, value: $ty) -> $result {
            Ok(value)
        }

        #[durable::workflow]
        async fn $workflow(ctx: &WorkflowContext, value: $ty) -> $result {
            let copy = async { value.clone() };
            $activity(ctx, copy.await).await.map_err(|_| "failed".to_owned())
        }
    };
}

echo!(echo_text, texts, String, Result<String, String>, "10s");
echo!(echo_list, lists, Vec<u32>, Result<Vec<u32>, String>, "1m");

fn main() {
    assert_eq!((texts::NAME, lists::NAME), ("texts", "lists"));
}
