//! The backend of this binary: a schema of its own for each test, on the server of this process.

use std::sync::atomic::{AtomicU32, Ordering};

use durable_core::provider::Schema as _;
use durable_postgres::PostgresOptions;
pub(crate) use durable_postgres::PostgresProvider as Backend;
use durable_testkit::postgres::PostgresServer;

/// A server that was given keeps the schemas; one that was started for the tests goes away with them.
pub(crate) async fn open() -> (Backend, Option<tempfile::TempDir>) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let schema = format!("durable runtime {}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let options = PostgresOptions::parse(PostgresServer::shared().url()).unwrap().schema(schema).unwrap();
    let provider = Backend::open(options.pool(4)).await.unwrap();
    provider.migrate().await.unwrap();
    (provider, None)
}
