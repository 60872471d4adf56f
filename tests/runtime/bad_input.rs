//! Bad input: a clear typed error, and nothing lost.

use std::sync::Arc;

use durable::prelude::*;
use durable::{ClientError, ConnectError};
use durable_core::provider::{ErrorKind, Provider, Schema};
use durable_sqlite::{SqliteOptions, SqliteProvider};
use sqlx::{ConnectOptions, Connection};

#[workflow]
async fn echo(_ctx: &WorkflowContext, text: String) -> Result<String, WorkflowError> {
    Ok(text)
}

#[workflow]
async fn other(_ctx: &WorkflowContext, text: String) -> Result<String, WorkflowError> {
    Ok(text)
}

async fn open(options: SqliteOptions) -> (Durable, Arc<SqliteProvider>) {
    let provider = Arc::new(SqliteProvider::open(options).await.unwrap());
    provider.migrate().await.unwrap();
    (Durable::with_provider(Arc::<SqliteProvider>::clone(&provider) as Arc<dyn Provider>), provider)
}

#[tokio::test]
async fn workflow_ids_of_0_or_256_bytes_or_with_nul_are_refused_and_odd_ones_work() {
    let dir = tempfile::tempdir().unwrap();
    let (durable, _provider) = open(SqliteOptions::new(dir.path().join("a.db"))).await;
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
}

#[tokio::test]
async fn a_priority_over_9_is_refused_not_bent() {
    let dir = tempfile::tempdir().unwrap();
    let (durable, _provider) = open(SqliteOptions::new(dir.path().join("a.db"))).await;
    let error = durable.client().start::<echo>("p", "t".to_owned()).priority(10).await.unwrap_err();
    assert!(matches!(&error, ClientError::Provider(e) if e.kind() == ErrorKind::Invalid), "{error}");
    durable.client().start::<echo>("p", "t".to_owned()).priority(9).await.unwrap();
}

#[tokio::test]
async fn payloads_over_two_mebibytes_are_refused_at_the_call_with_size_and_limit() {
    let dir = tempfile::tempdir().unwrap();
    let (durable, _provider) = open(SqliteOptions::new(dir.path().join("a.db"))).await;
    let worker = durable.worker().workflow::<echo>().start().await.unwrap();
    let frame = r#"{"text":""}"#.len();
    let limit = 2 * 1024 * 1024 - frame;
    let fits = durable.client().start::<echo>("fits", "x".repeat(limit)).await.unwrap();
    assert_eq!(fits.result().await.unwrap().len(), limit);
    let error = durable.client().start::<echo>("too-large", "x".repeat(limit + 1)).await.unwrap_err();
    assert!(matches!(error, ClientError::Data(_)), "{error}");
    assert!(error.to_string().contains("2097153") && error.to_string().contains("2 MiB"), "{error}");
    worker.shutdown().await;
}

#[tokio::test]
async fn another_type_under_an_open_id_is_refused_with_both_names() {
    let dir = tempfile::tempdir().unwrap();
    let (durable, _provider) = open(SqliteOptions::new(dir.path().join("a.db"))).await;
    durable.client().start::<echo>("one", "t".to_owned()).await.unwrap();
    let error = durable.client().start::<other>("one", "t".to_owned()).await.unwrap_err().to_string();
    assert!(error.contains("`echo`") && error.contains("`other`"), "{error}");
    let error = durable.client().start::<echo>("one", "u".to_owned()).await.unwrap_err().to_string();
    assert!(error.contains("argument"), "{error}");
}

#[tokio::test]
async fn an_unknown_workflow_type_blocks_the_run_with_its_name_until_a_worker_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (durable, _provider) = open(SqliteOptions::new(dir.path().join("a.db"))).await;
    let run = durable.client().start::<other>("unknown", "t".to_owned()).await.unwrap();
    let beside = durable.client().start::<echo>("beside", "b".to_owned()).await.unwrap();
    let worker = durable.worker().build_id("old").workflow::<echo>().start().await.unwrap();
    assert_eq!(beside.result().await.unwrap(), "b");
    let blocked = loop {
        if let Some(blocked) = run.describe().await.unwrap().blocked {
            break blocked;
        }
        tokio::task::yield_now().await;
    };
    assert!(blocked.reason.contains("no workflow named `other`"), "{}", blocked.reason);
    worker.shutdown().await;
    let worker =
        durable.worker().build_id("new").workflow::<echo>().workflow::<other>().start().await.unwrap();
    assert_eq!(run.result().await.unwrap(), "t");
    worker.shutdown().await;
}

#[tokio::test]
async fn addresses_without_a_backend_say_what_to_write() {
    let unknown = Durable::connect("mysql://x").await.unwrap_err();
    assert!(matches!(unknown, ConnectError::UnknownScheme { .. }) && unknown.to_string().contains("sqlite:"));
    let postgres = Durable::connect("postgres://x").await.unwrap_err();
    assert!(matches!(postgres, ConnectError::NotSupported { .. }), "{postgres}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_corrupt_and_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    std::fs::write(&path, "not a database, but somebody's text ".repeat(100)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Durable::connect(&format!("sqlite:{}", path.display())).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Provider(e) if e.kind() == ErrorKind::Corrupt), "{error}");
    assert!(error.to_string().contains("a.db"), "the message names no file: {error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_read_only_database_is_a_typed_error_and_readable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let (durable, provider) = open(SqliteOptions::new(&path)).await;
    durable.client().start::<echo>("kept", "t".to_owned()).await.unwrap();
    drop((durable, provider));
    let (durable, _provider) = open(SqliteOptions::new(&path).read_only(true)).await;
    let error = durable.client().start::<echo>("new", "t".to_owned()).await.unwrap_err();
    assert!(matches!(&error, ClientError::Provider(e) if e.kind() == ErrorKind::ReadOnly), "{error}");
    assert_eq!(durable.client().handle::<echo>("kept").await.unwrap().workflow_id().as_str(), "kept");
}

#[tokio::test]
async fn a_full_database_is_a_typed_error_and_nothing_stored_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let (durable, provider) = open(SqliteOptions::new(&path)).await;
    durable.client().start::<echo>("kept", "t".to_owned()).await.unwrap();
    drop((durable, provider));
    let (durable, provider) = open(SqliteOptions::new(&path).max_page_count(100)).await;
    let error = durable.client().start::<echo>("big", "x".repeat(2_000_000)).await.unwrap_err();
    assert!(matches!(&error, ClientError::Provider(e) if e.kind() == ErrorKind::StorageFull), "{error}");
    drop((durable, provider));
    let (durable, _provider) = open(SqliteOptions::new(&path)).await;
    let worker = durable.worker().workflow::<echo>().start().await.unwrap();
    assert_eq!(durable.client().handle::<echo>("kept").await.unwrap().result().await.unwrap(), "t");
    let big = durable.client().start::<echo>("big", "x".repeat(2_000_000)).await.unwrap();
    assert_eq!(big.result().await.unwrap().len(), 2_000_000);
    worker.shutdown().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    drop(open(SqliteOptions::new(&path)).await);
    let mut raw = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let newer = "INSERT INTO durable_migrations (version, applied_at) VALUES (99, 0)";
    sqlx::query(newer).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let error = Durable::connect(&format!("sqlite:{}", path.display())).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Provider(e) if e.kind() == ErrorKind::SchemaVersion), "{error}");
    assert!(error.to_string().contains("99"), "the message names no version: {error}");
}
