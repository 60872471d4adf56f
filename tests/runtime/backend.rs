//! The backend of this binary: a SQLite file in a temporary directory.

use durable_core::provider::Schema;
pub(crate) use durable_sqlite::SqliteProvider as Backend;

pub(crate) async fn open() -> (Backend, Option<tempfile::TempDir>) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("test.db").display());
    let provider = Backend::connect(&url).await.unwrap();
    provider.migrate().await.unwrap();
    (provider, Some(dir))
}
