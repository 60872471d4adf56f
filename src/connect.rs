//! From an address to a backend: the scheme picks the provider.

use std::sync::Arc;

use durable_core::client::Client;
use durable_core::provider::{Provider, ProviderError};
use durable_core::runtime::WorkerBuilder;
use durable_core::time::SystemClock;

/// An address that leads to no backend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No backend has this scheme.
    #[error(
        "`{url}` names no database that is known here; write `sqlite:path/to/file.db` or `postgres://user@host/database`"
    )]
    UnknownScheme {
        /// The address.
        url: String,
    },
    /// The backend exists, but is not part of this build.
    #[error("`{url}` needs the cargo feature `{feature}` of `durable`; add it to the dependency's features")]
    FeatureOff {
        /// The address.
        url: String,
        /// The feature.
        feature: &'static str,
    },
    /// The database refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

/// One database, and the clients and workers that share it in this process.
#[derive(Debug, Clone)]
pub struct Durable {
    core: durable_core::runtime::Durable,
}

impl Durable {
    /// Opens the database at `url` and brings its schema to this version.
    ///
    /// `sqlite:orders.db` is a file, made if it is not there (feature `sqlite`, on by default).
    /// `postgres://user@host/database` is a schema in a database, made if it is not there (feature `postgres`);
    /// `?schema=` names it, `durable` by default.
    ///
    /// # Errors
    ///
    /// An address without a backend, a database that cannot be opened, or one with a newer schema.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        match url.split(':').next() {
            Some("sqlite") => sqlite(url).await,
            Some("postgres" | "postgresql") => postgres(url).await,
            _ => Err(ConnectError::UnknownScheme { url: url.to_owned() }),
        }
    }

    /// Uses a provider of yours, whose schema is in place.
    pub fn with_provider(provider: Arc<dyn Provider>) -> Self {
        Self { core: durable_core::runtime::Durable::new(provider, Arc::new(SystemClock::new())) }
    }

    /// A client: starts workflows, waits for results.
    pub fn client(&self) -> Client {
        self.core.client()
    }

    /// A worker to be built: runs workflows and activities.
    pub fn worker(&self) -> WorkerBuilder {
        self.core.worker()
    }
}

#[cfg(feature = "sqlite")]
async fn sqlite(url: &str) -> Result<Durable, ConnectError> {
    use durable_core::provider::Schema as _;
    let provider = durable_sqlite::SqliteProvider::connect(url).await?;
    provider.migrate().await?;
    Ok(Durable::with_provider(Arc::new(provider)))
}

#[cfg(not(feature = "sqlite"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn sqlite(url: &str) -> Result<Durable, ConnectError> {
    Err(ConnectError::FeatureOff { url: url.to_owned(), feature: "sqlite" })
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str) -> Result<Durable, ConnectError> {
    use durable_core::provider::Schema as _;
    let provider = durable_postgres::PostgresProvider::connect(url).await?;
    provider.migrate().await?;
    Ok(Durable::with_provider(Arc::new(provider)))
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
async fn postgres(url: &str) -> Result<Durable, ConnectError> {
    // The address may hold a password.
    let url = url.split(':').next().unwrap_or_default().to_owned();
    Err(ConnectError::FeatureOff { url: format!("{url}://…"), feature: "postgres" })
}
