//! The suite on SQLite, each case on a file of its own.

use std::sync::Arc;

use durable_core::provider::Schema;
use durable_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::conformance::Harness;

use crate::dump::dump;

async fn open() -> Harness {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap();
    provider.migrate().await.unwrap();
    let peer = SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap();
    let killer = provider.clone();
    Harness::new(Arc::new(provider), move |incarnation| killer.kill(incarnation), directory)
        .with_peer(Arc::new(peer))
        .with_dump(move || dump(path.clone()))
}

durable_testkit::conformance!(open);
