//! Activities that are other ones, more, fewer, or elsewhere.

use durable::prelude::*;
use durable_core::engine::Strictness;
use expect_test::expect;

use super::{charge, edit, ship};
use crate::harness::done;

#[test]
fn another_activity() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(ship(ctx).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the activity type differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `ship` (id 1, key `ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("charge-to-ship", 1..=2) == 1 { /* activity `charge` */ } else { /* activity `ship` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn an_activity_more_at_the_end() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        Ok(ship(ctx).await?)
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the kind differs
              recorded  event 8: WorkflowExecutionCompleted the end of the workflow with `Ok`
              asked     activity `ship` (id 2, key `ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("end-to-ship", 1..=2) == 1 { /* the end of the workflow with `Ok` */ } else { /* activity `ship` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn an_activity_more_before() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ship(ctx).await?;
        Ok(charge(ctx, 5).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the activity type differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `ship` (id 1, key `ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("charge-to-ship", 1..=2) == 1 { /* activity `charge` */ } else { /* activity `ship` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn an_activity_more_beside() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let (one, two) = durable::join!(charge(ctx, 5), ship(ctx));
        Ok(one? + two?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the key differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `charge` (id 1, key `join#1.0/charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("move-charge", 1..=2) == 1 { /* where it was */ } else { /* where it is now */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn an_activity_less() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        charge(ctx, 5).await?;
        Ok(ship(ctx).await?)
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
              recorded  event 8: ActivityTaskScheduled activity `ship` (id 2, key `ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     the end of the workflow with `Ok`
              safe      if ctx.version("ship-to-end", 1..=2) == 1 { /* activity `ship` */ } else { /* the end of the workflow with `Ok` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn a_spawned_activity_less() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        ctx.spawn(ship(ctx)).detach();
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(ship(ctx).await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the code no longer asks for a recorded command
              recorded  event 5: ActivityTaskScheduled activity `charge` (id 2, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     nothing more in this workflow task
              safe      if ctx.version("drop-charge", 1..=2) == 1 { /* activity `charge` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn two_activities_swapped() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let one = charge(ctx, 5).await?;
        Ok(one + ship(ctx).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let one = ship(ctx).await?;
        Ok(one + charge(ctx, 5).await?)
    }
    let turns = vec![done(1, 5)];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the activity type differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `ship` (id 1, key `ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("charge-to-ship", 1..=2) == 1 { /* activity `charge` */ } else { /* activity `ship` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn branches_of_a_join_swapped() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let (one, two) = durable::join!(charge(ctx, 5), ship(ctx));
        Ok(one? + two?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let (two, one) = durable::join!(ship(ctx), charge(ctx, 5));
        Ok(one? + two?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the activity type differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `join#1.0/charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `ship` (id 1, key `join#1.0/ship#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("charge-to-ship", 1..=2) == 1 { /* activity `charge` */ } else { /* activity `ship` */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}

#[test]
fn a_call_moved_into_a_block() {
    #[workflow]
    async fn order(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        Ok(charge(ctx, 5).await?)
    }
    #[workflow(name = "order")]
    async fn edited(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let block = async { charge(ctx, 5).await };
        Ok(block.await?)
    }
    let turns = vec![];
    edit::<order, edited>(
        turns,
        Strictness::Tell,
        &expect![[r#"
            nondeterminism: workflow `order` no longer fits its recorded history: the key differs
              recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE when it was recorded
              asked     activity `charge` (id 1, key `block#1/charge#1`)
                        --> tests/it/diagnosis/activities.rs:LINE
              safe      if ctx.version("move-charge", 1..=2) == 1 { /* where it was */ } else { /* where it is now */ }
              help      run this instance with the code that recorded its history, or restore the recorded order; the instance is blocked, keeps everything recorded so far, and goes on by itself once matching code is deployed
        "#]],
    );
}
