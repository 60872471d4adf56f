//! Bad input that any backend can be given: a clear typed error, and nothing lost.

use durable::prelude::*;
use durable::{ClientError, StartError};
use durable_core::provider::ErrorKind;

use crate::harness::{Fixture, in_world};

#[workflow]
async fn echo(_ctx: &WorkflowContext, text: String) -> Result<String, WorkflowError> {
    Ok(text)
}

#[workflow]
async fn other(_ctx: &WorkflowContext, text: String) -> Result<String, WorkflowError> {
    Ok(text)
}

#[test]
fn workflow_ids_of_0_or_256_bytes_or_with_nul_are_refused_and_odd_ones_work() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let durable = &fixture.durable;
        let worker = durable.worker().workflow::<echo>().start().await.unwrap();
        let client = durable.client();
        for bad in ["", &"x".repeat(256), "a\0b"] {
            let error = client.start::<echo>(bad, "t".to_owned()).await.unwrap_err();
            assert!(matches!(error, ClientError::Name(_)), "{error}");
            assert!(error.to_string().starts_with("workflow id "), "{error}");
        }
        for good in ["a/b", "a b", "%", "'", "🦀", &"x".repeat(255)] {
            let run = client.start::<echo>(good, "nul \0 inside".to_owned()).await.unwrap();
            assert_eq!(run.result().await.unwrap(), "nul \0 inside");
        }
        worker.shutdown().await;
    });
}

#[test]
fn a_priority_over_9_is_refused_not_bent() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let durable = &fixture.durable;
        let error = durable.client().start::<echo>("p", "t".to_owned()).priority(10).await.unwrap_err();
        assert!(matches!(&error, ClientError::Provider(e) if e.kind() == ErrorKind::Invalid), "{error}");
        durable.client().start::<echo>("p", "t".to_owned()).priority(9).await.unwrap();
    });
}

#[test]
fn payloads_over_two_mebibytes_are_refused_at_the_call_with_size_and_limit() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let durable = &fixture.durable;
        let worker = durable.worker().workflow::<echo>().start().await.unwrap();
        let frame = r#"{"text":""}"#.len();
        let limit = 2 * 1024 * 1024 - frame;
        let fits = durable.client().start::<echo>("fits", "x".repeat(limit)).await.unwrap();
        assert_eq!(fits.result().await.unwrap().len(), limit);
        let error = durable.client().start::<echo>("too-large", "x".repeat(limit + 1)).await.unwrap_err();
        assert!(matches!(error, ClientError::Data(_)), "{error}");
        assert!(error.to_string().contains("2097153") && error.to_string().contains("2 MiB"), "{error}");
        worker.shutdown().await;
    });
}

#[test]
fn another_type_under_an_open_id_is_refused_with_both_names() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let durable = &fixture.durable;
        durable.client().start::<echo>("one", "t".to_owned()).await.unwrap();
        let error = durable.client().start::<other>("one", "t".to_owned()).await.unwrap_err().to_string();
        assert!(error.contains("`echo`") && error.contains("`other`"), "{error}");
        let error = durable.client().start::<echo>("one", "u".to_owned()).await.unwrap_err().to_string();
        assert!(error.contains("argument"), "{error}");
    });
}

#[test]
fn an_unknown_workflow_type_blocks_the_run_with_its_name_until_a_worker_has_it() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let durable = &fixture.durable;
        let run = durable.client().start::<other>("unknown", "t".to_owned()).await.unwrap();
        let beside = durable.client().start::<echo>("beside", "b".to_owned()).await.unwrap();
        let worker = durable.worker().build_id("old").workflow::<echo>().start().await.unwrap();
        assert_eq!(beside.result().await.unwrap(), "b");
        let described = || async { run.describe().await.unwrap().blocked };
        fixture.until("blocked", || async { described().await.is_some() }).await;
        let blocked = described().await.unwrap();
        assert!(blocked.reason.contains("no workflow named `other`"), "{}", blocked.reason);
        worker.shutdown().await;
        let worker =
            durable.worker().build_id("new").workflow::<echo>().workflow::<other>().start().await.unwrap();
        assert_eq!(run.result().await.unwrap(), "t");
        worker.shutdown().await;
    });
}

#[test]
fn names_of_a_worker_follow_the_same_rule() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        for bad in ["", &"x".repeat(256), "a\0b"] {
            let build = || fixture.durable.worker().workflow::<echo>();
            for builder in [build().slot(bad), build().queue(bad), build().build_id(bad)] {
                let error = builder.start().await.unwrap_err();
                assert!(matches!(error, StartError::Name(_)), "{error}");
            }
            let error =
                fixture.durable.client().start::<echo>("q", "t".to_owned()).queue(bad).await.unwrap_err();
            assert!(matches!(error, ClientError::Name(_)), "{error}");
        }
    });
}
