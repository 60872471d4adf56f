//! The provider: options, connections, and the liveness locks that it holds.

use std::sync::Arc;

use durable_core::id::Incarnation;
use durable_core::provider::ProviderResult;

use crate::connection::Connections;
use crate::options::SqliteOptions;
use crate::slot::Slots;

/// A `durable` provider on one SQLite file. Clones share the connections.
///
/// ```no_run
/// # async fn run() -> durable_core::provider::ProviderResult<()> {
/// use durable_core::provider::Schema;
/// let provider = durable_sqlite::SqliteProvider::connect("sqlite:orders.db").await?;
/// provider.migrate().await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct SqliteProvider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connections: Connections,
    slots: Slots,
}

impl SqliteProvider {
    /// Opens the database at an address (see [`SqliteOptions::parse`]) with the default options. It does not
    /// migrate.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad address, `Corrupt` for a file that is no database, `Unavailable` when it cannot
    /// be opened.
    pub async fn connect(url: &str) -> ProviderResult<Self> {
        Self::open(SqliteOptions::parse(url)?).await
    }

    /// Opens a database with these options. It does not migrate.
    ///
    /// # Errors
    ///
    /// As [`SqliteProvider::connect`].
    pub async fn open(options: SqliteOptions) -> ProviderResult<Self> {
        let slots = Slots::beside(options.path());
        let connections = Connections::open(options).await?;
        Ok(Self { inner: Arc::new(Inner { connections, slots }) })
    }

    /// Drops an incarnation's liveness lock as the operating system does when its process dies. For tests
    /// that crash a worker without killing the process.
    #[doc(hidden)]
    pub fn kill(&self, incarnation: Incarnation) {
        self.slots().release(incarnation);
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.inner.connections
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.inner.slots
    }
}
