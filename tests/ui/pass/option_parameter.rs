//! An `Option` parameter reads as `None` from what older code recorded; anything else missing is named.
#![allow(unused_variables)]

mod old {
    use durable::WorkflowContext;

    #[durable::workflow]
    pub async fn checkout(_ctx: &WorkflowContext, order: u32, removed: bool) -> Result<(), String> {
        Ok(())
    }
}

mod new {
    use durable::WorkflowContext;

    #[durable::workflow]
    pub async fn checkout(_ctx: &WorkflowContext, coupon: Option<String>, order: u32) -> Result<(), String> {
        Ok(())
    }
}

mod broken {
    use durable::WorkflowContext;

    #[durable::workflow]
    pub async fn checkout(_ctx: &WorkflowContext, order: u32, coupon: String) -> Result<(), String> {
        Ok(())
    }
}

use durable::Workflow;

fn main() {
    let recorded = old::checkout::encode(&(7, true)).unwrap();
    assert_eq!(new::checkout::decode(&recorded).unwrap(), (None, 7));
    let error = broken::checkout::decode(&recorded).unwrap_err().to_string();
    assert!(error.starts_with("argument `coupon` of workflow `checkout` cannot be decoded: it is missing"), "{error}");
}
