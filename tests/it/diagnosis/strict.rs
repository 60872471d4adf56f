//! What only strict replay refuses: the same command with another value.

use durable::prelude::*;
use durable_core::engine::Strictness;
use expect_test::expect;

use super::{SECOND, charge, edit};
use crate::harness::{done, failed};

#[test]
fn another_input() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 6).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Refuse,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history in strict replay: the input differs
              recorded  event 4: ActivityTaskScheduled activity `charge`
                        input: {"cents":5}
              asked     input: {"cents":6}
                        --> tests/it/diagnosis/strict.rs:LINE
              help      ordinary replay goes by what was recorded and lets this pass; if the change is not meant, look for a value that does not come from history
        "#]],
    );
}

#[test]
fn another_duration() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.sleep(SECOND).await?;
        Ok(5)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.sleep(2 * SECOND).await?;
        Ok(5)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Refuse,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history in strict replay: the duration differs
              recorded  event 4: TimerStarted timer of 1s
                        duration: 1s
              asked     duration: 2s
                        --> tests/it/diagnosis/strict.rs:LINE
              help      ordinary replay goes by what was recorded and lets this pass; if the change is not meant, look for a value that does not come from history
        "#]],
    );
}

#[test]
fn another_result() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await? + 1)
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Refuse,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history in strict replay: the result differs
          recorded  event 8: WorkflowExecutionCompleted the end of the workflow with `Ok`
                    result: 5
          asked     result: 6
          help      ordinary replay goes by what was recorded and lets this pass; if the change is not meant, look for a value that does not come from history
    "#]],
    );
}

#[test]
fn another_error() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await.map_err(|_| WorkflowError::new("no money"))
    }
    let turns = vec![failed(1, "broke", "broke", &[])];
    edit::<order, edited>(
        turns,
        Strictness::Refuse,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history in strict replay: the error differs
          recorded  event 8: WorkflowExecutionFailed the end of the workflow with `Err`
                    error: {"message":"activity `charge` failed: broke","causes":[]}
          asked     error: {"message":"no money","causes":[]}
          help      ordinary replay goes by what was recorded and lets this pass; if the change is not meant, look for a value that does not come from history
    "#]],
    );
}
