//! The suite on SQLite, each case on a file of its own.

use std::sync::Arc;

use durable_core::provider::Schema;
use durable_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::conformance::Harness;

async fn open() -> Harness {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("durable.db"));
    let provider = SqliteProvider::open(options).await.unwrap();
    provider.migrate().await.unwrap();
    let killer = provider.clone();
    Harness::new(Arc::new(provider), move |incarnation| killer.kill(incarnation), directory)
}

durable_testkit::conformance!(open);
