//! What only addresses and files can have: no such backend; no database, read-only, full, of a newer version.

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

async fn open(options: SqliteOptions) -> (Durable, Arc<SqliteProvider>) {
    let provider = Arc::new(SqliteProvider::open(options).await.unwrap());
    provider.migrate().await.unwrap();
    (Durable::with_provider(Arc::<SqliteProvider>::clone(&provider) as Arc<dyn Provider>), provider)
}

#[tokio::test]
async fn addresses_without_a_backend_say_what_to_write() {
    let unknown = Durable::connect("mysql://x").await.unwrap_err();
    assert!(matches!(unknown, ConnectError::UnknownScheme { .. }) && unknown.to_string().contains("sqlite:"));
    if cfg!(not(feature = "postgres")) {
        let postgres = Durable::connect("postgres://me:secret@x").await.unwrap_err();
        assert!(matches!(postgres, ConnectError::FeatureOff { feature: "postgres", .. }), "{postgres}");
        assert!(!postgres.to_string().contains("secret"), "{postgres}");
    }
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
