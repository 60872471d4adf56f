//! The backend of this binary: a SQLite file in a temporary directory.

use std::path::PathBuf;

use durable_core::id::Incarnation;
use durable_core::provider::Schema;
pub(crate) use durable_sqlite::SqliteProvider as Backend;
use durable_sqlite::{SqliteOptions, Synchronous};
use durable_testkit::explore::Database;
use durable_testkit::simulate::SharedDatabase;

pub(crate) async fn open() -> (Backend, Option<tempfile::TempDir>) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("test.db").display());
    let provider = Backend::connect(&url).await.unwrap();
    provider.migrate().await.unwrap();
    (provider, Some(dir))
}

/// A file that outlives the processes that open it.
pub(crate) struct Disk {
    dir: tempfile::TempDir,
}

impl Disk {
    fn file(&self) -> PathBuf {
        self.dir.path().join("test.db")
    }
}

impl Database for Disk {
    type Provider = Backend;

    async fn connect(&self) -> Backend {
        // Processes die here, machines do not.
        Backend::open(SqliteOptions::new(self.file()).synchronous(Synchronous::Normal)).await.unwrap()
    }
}

/// A migrated file.
pub(crate) fn fresh() -> Disk {
    // In memory where there is such a file system: thousands of them are made.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let disk = Disk { dir };
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    executor.block_on(async { disk.connect().await.migrate().await.unwrap() });
    disk
}

impl SharedDatabase for Disk {
    type Provider = Backend;

    async fn join(&self) -> Backend {
        self.connect().await
    }

    fn release(&self, provider: &Backend, incarnation: Incarnation) {
        provider.kill(incarnation);
    }
}

pub(crate) fn shared() -> Disk {
    fresh()
}

/// Seeds of an ordinary test run.
pub(crate) const SIMULATIONS: u64 = 40;
