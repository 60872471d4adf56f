//! Does this build fit what a database holds? Asked before it is deployed, without changing anything.

use std::time::Duration;

use durable::prelude::*;
use durable::replay::{Replayer, RunExport, Verdict};
use durable_core::provider::Status;

use crate::harness::{Calls, Fixture, in_world};

#[activity]
async fn charge(ctx: &ActivityContext, cents: u64) -> Result<u64, String> {
    ctx.state::<Calls>().add();
    Ok(cents)
}

#[activity]
async fn ship(ctx: &ActivityContext) -> Result<u64, String> {
    ctx.state::<Calls>().add();
    Ok(1)
}

/// The build that runs.
#[workflow(name = "order")]
async fn order(ctx: &WorkflowContext, cents: u64) -> Result<u64, WorkflowError> {
    let charged = charge(ctx, cents).await?;
    ctx.sleep(Duration::from_hours(1)).await?;
    Ok(charged + ship(ctx).await?)
}

#[workflow(name = "other")]
async fn other(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    Ok(ctx.sleep(Duration::from_hours(1)).await?)
}

/// A build that fits nothing of it.
mod broken {
    use super::*;

    #[workflow(name = "order")]
    pub(super) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<u64, WorkflowError> {
        let shipped = ship(ctx).await?;
        ctx.sleep(Duration::from_hours(1)).await?;
        Ok(shipped + charge(ctx, cents).await?)
    }
}

/// The same change, made safe.
mod versioned {
    use super::*;

    #[workflow(name = "order")]
    pub(super) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<u64, WorkflowError> {
        if ctx.version("ship-first", 1..=2) == 1 {
            let charged = charge(ctx, cents).await?;
            ctx.sleep(Duration::from_hours(1)).await?;
            return Ok(charged + ship(ctx).await?);
        }
        let shipped = ship(ctx).await?;
        ctx.sleep(Duration::from_hours(1)).await?;
        Ok(shipped + charge(ctx, cents).await? + 1000)
    }
}

/// Charges another sum, which only strict replay minds.
mod dearer {
    use super::*;

    #[workflow(name = "order")]
    pub(super) async fn order(ctx: &WorkflowContext, cents: u64) -> Result<u64, WorkflowError> {
        let charged = charge(ctx, cents + 1).await?;
        ctx.sleep(Duration::from_hours(1)).await?;
        Ok(charged + ship(ctx).await?)
    }
}

/// Never gives its thread back.
mod endless {
    use super::*;

    #[workflow(name = "order")]
    pub(super) async fn order(_ctx: &WorkflowContext, _cents: u64) -> Result<u64, WorkflowError> {
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn every_open_run_is_checked_against_the_build_that_is_to_come_and_runs_of_both_ages_finish() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let (calls, client) = (Calls::default(), fixture.durable.client());
        let worker = fixture.durable.worker().workflow::<order>().workflow::<other>();
        let old = worker.activity::<charge>().activity::<ship>().state(calls.clone()).start().await.unwrap();
        let mut runs = Vec::new();
        for n in 0..120 {
            runs.push(client.start::<order>(format!("order-{n:03}"), n).await.unwrap());
        }
        let stranger = client.start::<other>("stranger", ()).await.unwrap();
        for run in &runs {
            fixture
                .until("it waits", || async { run.describe().await.unwrap().status == Status::Waiting })
                .await;
        }
        old.shutdown().await;
        let untouched = client.start::<order>("untouched", 7).await.unwrap();
        let made = calls.get();

        let report =
            Replayer::new().workflow::<order>().workflow::<other>().open_runs(&client).await.unwrap();
        assert!(report.all_fit(), "{report}");
        assert_eq!(report.runs.len(), 122);
        assert!(report.runs.is_sorted_by_key(|run| &run.workflow_id));
        let report = Replayer::new().workflow::<broken::order>().open_runs(&client).await.unwrap();
        assert_eq!(report.misfits().count(), 121, "a run that has not begun fits everything");
        let text = report.to_string();
        assert!(
            text.ends_with("122 open runs: 1 fit, 120 would be blocked, 1 of an unknown type, 0 unreadable"),
            "{text}"
        );
        let one = report.misfits().next().unwrap();
        assert_eq!(one.workflow_id.as_str(), "order-000");
        let Verdict::Blocked(reason) = &one.verdict else { panic!("{one:?}") };
        assert!(reason.contains("recorded  event 4: ActivityTaskScheduled activity `charge`"), "{reason}");
        assert!(reason.contains("asked     activity `ship`"), "{reason}");
        let report = Replayer::new().workflow::<versioned::order>().open_runs(&client).await.unwrap();
        assert_eq!(report.misfits().count(), 1, "{report}");
        let dearer = Replayer::new().workflow::<dearer::order>().workflow::<other>();
        assert!(dearer.open_runs(&client).await.unwrap().all_fit());
        let report = dearer.strict().open_runs(&client).await.unwrap();
        assert_eq!(report.misfits().count(), 120);
        assert!(report.to_string().contains("the input differs"), "{report}");
        assert_eq!(calls.get(), made, "no activity ran");
        assert!(stranger.describe().await.unwrap().status.is_open());

        let worker = fixture.durable.worker().workflow::<versioned::order>().workflow::<other>();
        let new = worker.activity::<charge>().activity::<ship>().state(calls.clone()).start().await.unwrap();
        for (n, run) in (0..).zip(&runs) {
            let result = tokio::select! {
                result = run.result() => result.unwrap(),
                () = fixture.pause(Duration::from_hours(3)) => panic!("it does not end"),
            };
            assert_eq!(result, n + 1, "the old path");
        }
        let result = tokio::select! {
            result = untouched.result() => result.unwrap(),
            () = fixture.pause(Duration::from_hours(3)) => panic!("it does not end"),
        };
        assert_eq!(result, 1008, "the new path");
        assert_eq!(new.replay_differences(), 0);
        new.shutdown().await;
    });
}

#[test]
fn a_run_can_be_exported_read_back_and_replayed_and_one_that_hangs_is_told() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let client = fixture.durable.client();
        let worker = fixture.durable.worker().workflow::<order>().activity::<charge>().activity::<ship>();
        let worker = worker.state(Calls::default()).start().await.unwrap();
        let run = client.start::<order>("order", 5).await.unwrap();
        fixture.until("it waits", || async { run.describe().await.unwrap().status == Status::Waiting }).await;
        let exported = client.export("order").await.unwrap();
        assert_eq!(exported, client.export_run(run.run_id()).await.unwrap());
        assert_eq!(RunExport::from_json(&exported.to_json().unwrap()).unwrap(), exported);
        let file = tempfile::tempdir().unwrap();
        let path = file.path().join("order.json");
        exported.write(&path).unwrap();
        let again = exported.write(&path).unwrap_err().to_string();
        assert!(again.contains("order.json"), "what is recorded is not replaced: {again}");
        let read = RunExport::read(&path).unwrap();
        assert_eq!(Replayer::new().workflow::<order>().strict().replay(&read), Verdict::Fits);
        assert!(matches!(Replayer::new().workflow::<broken::order>().replay(&read), Verdict::Blocked(_)));
        assert_eq!(Replayer::new().workflow::<other>().replay(&read), Verdict::UnknownType);
        let hanging = Replayer::new().workflow::<endless::order>().time_limit(Duration::from_millis(20));
        let Verdict::Blocked(reason) = hanging.replay(&read) else { panic!("it cannot fit") };
        assert!(reason.contains("did not replay within 20ms"), "{reason}");
        assert!(client.export("nobody").await.unwrap_err().to_string().contains("nobody"));
        worker.shutdown().await;
    });
}

#[test]
fn another_input_is_counted_in_production_and_what_was_recorded_stands() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let client = fixture.durable.client();
        let worker = fixture.durable.worker().workflow::<order>().activity::<charge>().activity::<ship>();
        let old = worker.state(Calls::default()).start().await.unwrap();
        let run = client.start::<order>("order", 5).await.unwrap();
        fixture.until("it waits", || async { run.describe().await.unwrap().status == Status::Waiting }).await;
        old.shutdown().await;
        let worker =
            fixture.durable.worker().workflow::<dearer::order>().activity::<charge>().activity::<ship>();
        let new = worker.state(Calls::default()).start().await.unwrap();
        let result = tokio::select! {
            result = run.result() => result.unwrap(),
            () = fixture.pause(Duration::from_hours(3)) => panic!("it does not end"),
        };
        assert_eq!((result, new.replay_differences()), (6, 1));
        new.shutdown().await;
    });
}
