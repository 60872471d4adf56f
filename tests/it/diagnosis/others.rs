//! Timers, side effects, versions, ends, and what a select drops.

use durable::prelude::*;
use durable_core::engine::Strictness;
use expect_test::expect;

use super::{SECOND, charge, edit, ship};
use crate::harness::{done, fired};

#[test]
fn a_timer_instead_of_an_activity() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.sleep(SECOND).await?;
        Ok(5)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/others.rs:LINE when it was recorded
              asked     timer of 1s (id 1, key `sleep#1`)
                        --> tests/it/diagnosis/others.rs:LINE
              safe      if ctx.version("charge-to-timer", 1..=2) == 1 { /* activity `charge` */ } else { /* timer of 1s */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn a_timer_less() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.sleep(SECOND).await?;
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
              recorded  event 4: TimerStarted timer of 1s (id 1, key `sleep#1`)
                        --> tests/it/diagnosis/others.rs:LINE when it was recorded
              asked     activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/others.rs:LINE
              safe      if ctx.version("timer-to-charge", 1..=2) == 1 { /* timer of 1s */ } else { /* activity `charge` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn a_side_effect_renamed() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let cents = ctx.side_effect("price", || 5)?;
        Ok(charge(ctx, cents).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let cents = ctx.side_effect("amount", || 5)?;
        Ok(charge(ctx, cents).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history: the side effect name differs
          recorded  event 4: MarkerRecorded side effect `price` (key `price#1`)
          asked     side effect `amount` (key `amount#1`)
          safe      if ctx.version("price-to-amount", 1..=2) == 1 { /* side effect `price` */ } else { /* side effect `amount` */ }
          help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
    "#]],
    );
}

#[test]
fn a_side_effect_less() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let cents = ctx.side_effect("price", || 5)?;
        Ok(charge(ctx, cents).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
              recorded  event 4: MarkerRecorded side effect `price` (key `price#1`)
              asked     activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/others.rs:LINE
              safe      if ctx.version("price-to-charge", 1..=2) == 1 { /* side effect `price` */ } else { /* activity `charge` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn a_version_less() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.version("price", 1..=2);
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history: the code no longer asks for a recorded command
          recorded  event 4: MarkerRecorded version 2 of change `price`
          asked     nothing more in this workflow task
          safe      ctx.deprecate_version("price", 2); // until no run that recorded it is open
          help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
    "#]],
    );
}

#[test]
fn a_version_without_its_path() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.version("price", 1..=2);
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.version("price", 3..=3);
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history: the run goes by version 2 of change `price`, and the code has a path for version 3 only
          help      restore the path of version 2, and keep it until no run that goes by it is open; the instance is blocked, keeps everything recorded so far, and goes on by itself once such code is deployed
    "#]],
    );
}

#[test]
fn an_end_that_comes_early() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        Ok(ship(ctx).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        Ok(5)
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
              recorded  event 8: ActivityTaskScheduled activity `ship` (id 2, key `ship#1`)
                        --> tests/it/diagnosis/others.rs:LINE when it was recorded
              asked     the end of the workflow with `Ok`
              safe      if ctx.version("ship-to-end", 1..=2) == 1 { /* activity `ship` */ } else { /* the end of the workflow with `Ok` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn an_error_instead_of_a_result() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        Err(WorkflowError::new("no"))
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
          recorded  event 8: WorkflowExecutionCompleted the end of the workflow with `Ok`
          asked     the end of the workflow with `Err`
          safe      if ctx.version("end-to-end", 1..=2) == 1 { /* the end of the workflow with `Ok` */ } else { /* the end of the workflow with `Err` */ }
          help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
    "#]],
    );
}

#[test]
fn a_result_instead_of_a_new_run() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        ctx.continue_as_new::<order>(()).await
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
        nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
          recorded  event 8: WorkflowExecutionContinuedAsNew the end of the run, to continue as new
          asked     the end of the workflow with `Ok`
          safe      if ctx.version("end-to-end", 1..=2) == 1 { /* the end of the run, to continue as new */ } else { /* the end of the workflow with `Ok` */ }
          help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
    "#]],
    );
}

#[test]
fn a_loser_that_is_kept() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        durable::select! {
            charged = charge(ctx, 5) => Ok(charged?),
            slept = ctx.sleep(SECOND) => {
                slept?;
                Ok(ship(ctx).await?)
            }
        }
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let mut call = charge(ctx, 5).into_future();
        durable::select! {
            charged = &mut call => Ok(charged?),
            slept = ctx.sleep(SECOND) => {
                slept?;
                Ok(ship(ctx).await?)
            }
        }
    }
    let turns = vec![fired(2)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the key differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `select#1.0/charge#1`)
                        --> tests/it/diagnosis/others.rs:LINE when it was recorded
              asked     activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/others.rs:LINE
              safe      if ctx.version("move-charge", 1..=2) == 1 { /* where it was */ } else { /* where it is now */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}
