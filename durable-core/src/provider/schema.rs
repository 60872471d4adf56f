//! Schema: version, migration.

use async_trait::async_trait;

use super::error::ProviderResult;
use crate::time::Timestamp;

/// Schema of a backend.
#[async_trait]
pub trait Schema: Send + Sync {
    /// Brings the schema to this build's version; safe to call from ten processes at once (G14).
    ///
    /// # Errors
    ///
    /// `SchemaVersion` when the database was migrated by a newer build; nothing is changed.
    async fn migrate(&self) -> ProviderResult<()>;

    /// The database's clock.
    async fn clock(&self) -> ProviderResult<Timestamp>;

    /// A name for messages, e.g. `sqlite:orders.db`.
    fn describe(&self) -> String;
}
