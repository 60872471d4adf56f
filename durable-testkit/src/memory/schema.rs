//! There is no schema to migrate.

use async_trait::async_trait;
use durable_core::provider::{ProviderResult, Schema};
use durable_core::time::Timestamp;

use super::{MemoryProvider, database_now};

#[async_trait]
impl Schema for MemoryProvider {
    async fn migrate(&self) -> ProviderResult<()> {
        Ok(())
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        Ok(database_now(None))
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}
