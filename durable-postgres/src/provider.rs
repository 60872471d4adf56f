//! The provider: options, connections, and the liveness locks that it holds.

use std::sync::Arc;

use durable_core::id::Incarnation;
use durable_core::provider::ProviderResult;

use crate::connection::Connections;
use crate::options::PostgresOptions;
use crate::slot::Slots;

/// A `durable` provider on one schema of a PostgreSQL database. Clones share the connections.
///
/// ```no_run
/// # async fn run() -> durable_core::provider::ProviderResult<()> {
/// use durable_core::provider::Schema;
/// let provider = durable_postgres::PostgresProvider::connect("postgres://localhost/orders").await?;
/// provider.migrate().await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct PostgresProvider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connections: Connections,
    slots: Slots,
}

impl PostgresProvider {
    /// Connects to the database at an address (see [`PostgresOptions::parse`]) with the default options. It
    /// does not migrate.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad address, user or password, `Unavailable` when the server cannot be reached.
    pub async fn connect(url: &str) -> ProviderResult<Self> {
        Self::open(PostgresOptions::parse(url)?).await
    }

    /// Connects with these options. It does not migrate.
    ///
    /// # Errors
    ///
    /// As [`PostgresProvider::connect`].
    pub async fn open(options: PostgresOptions) -> ProviderResult<Self> {
        let connections = Connections::open(options).await?;
        Ok(Self { inner: Arc::new(Inner { connections, slots: Slots::default() }) })
    }

    /// The server process behind an incarnation's liveness connection, for tests that end it as the death of
    /// the worker would.
    #[doc(hidden)]
    pub fn liveness_pid(&self, incarnation: Incarnation) -> Option<i32> {
        self.slots().pid(incarnation)
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.inner.connections
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.inner.slots
    }
}
