//! Schema: version, migration, clock.

use std::path::Path;

use async_trait::async_trait;
use durable_core::provider::{ErrorKind, ProviderError, ProviderResult, Schema};
use durable_core::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_scalar, raw_sql};

use crate::connection::{WriteTransaction, clock_read};
use crate::error::Attempt;
use crate::provider::SqliteProvider;
use crate::sql;

/// Every migration in order; the version of a database is how many ran.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_initial.sql")];

/// The version that this build reads and writes.
#[expect(clippy::cast_possible_wrap, reason = "a short constant list")]
const VERSION: i64 = MIGRATIONS.len() as i64;

#[async_trait]
impl Schema for SqliteProvider {
    async fn migrate(&self) -> ProviderResult<()> {
        // A look first: a database that is up to date needs no write lock, and may be read-only.
        let mut lent = self.connections().lend_reader().await?;
        let version = current_version(&mut lent.connection, self.connections().options().path()).await;
        if self.connections().end_read(lent, version)? == VERSION {
            return Ok(());
        }
        let mut transaction = self.connections().begin(None).await?;
        let result = migrate(&mut transaction, self.connections().options().path()).await;
        self.connections().finish(transaction, result).await
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        let mut lent = self.connections().lend_reader().await?;
        let result = clock_read(&mut lent.connection, None).await;
        self.connections().end_read(lent, result)
    }

    fn describe(&self) -> String {
        format!("sqlite:{}", self.connections().options().path().display())
    }
}

async fn current_version(connection: &mut SqliteConnection, path: &Path) -> Attempt<i64> {
    let present: i64 = query_scalar(sql!("schema_present")).fetch_one(&mut *connection).await?;
    if present == 0 {
        return Ok(0);
    }
    let version: i64 = query_scalar(sql!("schema_version")).fetch_one(&mut *connection).await?;
    if version > VERSION {
        let message = format!(
            "SQLite database {} has schema version {version}, this build knows versions up to {VERSION}; \
             a newer build migrated it: run that build or a newer one (nothing was changed)",
            path.display()
        );
        return Err(ProviderError::new(ErrorKind::SchemaVersion, message).into());
    }
    Ok(version)
}

/// Runs under the write lock: of ten processes at once one migrates, the others find it done (G14).
async fn migrate(transaction: &mut WriteTransaction, path: &Path) -> Attempt<()> {
    let now = transaction.now.as_micros();
    let connection = transaction.connection();
    let version = current_version(connection, path).await?;
    query(sql!("schema_table")).execute(&mut *connection).await?;
    for (number, migration) in (1_i64..).zip(MIGRATIONS) {
        if number <= version {
            continue;
        }
        raw_sql(migration).execute(&mut *connection).await?;
        query(sql!("schema_record")).bind(number).bind(now).execute(&mut *connection).await?;
    }
    Ok(())
}
