//! Schema: version, migration, clock.

use async_trait::async_trait;
use durable_core::provider::{ErrorKind, ProviderError, ProviderResult, Schema};
use durable_core::time::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgConnection;
use sqlx::{query, query_as, query_scalar, raw_sql};

use crate::connection::{Connections, clock_read};
use crate::error::Attempt;
use crate::provider::PostgresProvider;
use crate::statements::render;

/// Every migration in order; the version of a database is how many ran.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001_initial.sql")];

/// The version that this build reads and writes.
#[expect(clippy::cast_possible_wrap, reason = "a short constant list")]
const VERSION: i64 = MIGRATIONS.len() as i64;

#[async_trait]
impl Schema for PostgresProvider {
    async fn migrate(&self) -> ProviderResult<()> {
        // A look first: a database that is up to date needs no lock and no right to make anything.
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let found = look(connections, &mut lent.connection).await;
        if connections.end(lent, found)?.version == VERSION {
            return Ok(());
        }
        let mut transaction = connections.begin().await?;
        let result = migrate(connections, transaction.connection()).await;
        connections.finish(transaction, result).await
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = clock_read(connections.statements(), &mut lent.connection, None).await;
        connections.end(lent, result)
    }

    fn describe(&self) -> String {
        self.connections().options().describe()
    }
}

/// What is there before a migration.
struct Found {
    schema: bool,
    version: i64,
}

async fn look(connections: &Connections, connection: &mut PgConnection) -> Attempt<Found> {
    let (statements, options) = (connections.statements(), connections.options());
    let (schema, table, encoding): (bool, bool, String) = query_as(statements.schema_present.clone())
        .bind(options.schema_name())
        .fetch_one(&mut *connection)
        .await?;
    if encoding != "UTF8" {
        let message = format!(
            "PostgreSQL database {} encodes text as {encoding}, which cannot hold every name; create the database with \
             ENCODING 'UTF8' (nothing was changed)",
            options.describe()
        );
        return Err(ProviderError::new(ErrorKind::Invalid, message).into());
    }
    if !table {
        return Ok(Found { schema, version: 0 });
    }
    let version: i64 = query_scalar(statements.schema_version.clone()).fetch_one(connection).await?;
    if version > VERSION {
        let message = format!(
            "PostgreSQL database {} has schema version {version}, this build knows versions up to {VERSION}; \
             a newer build migrated it: run that build or a newer one (nothing was changed)",
            options.describe()
        );
        return Err(ProviderError::new(ErrorKind::SchemaVersion, message).into());
    }
    Ok(Found { schema, version })
}

/// Runs under an advisory lock: of ten processes at once one migrates, the others find it done (G14).
async fn migrate(connections: &Connections, connection: &mut PgConnection) -> Attempt<()> {
    let (statements, schema) = (connections.statements(), connections.options().schema_name());
    query(statements.schema_patience.clone()).execute(&mut *connection).await?;
    query(statements.schema_lock.clone())
        .bind(advisory_key("migrate", schema, ""))
        .execute(&mut *connection)
        .await?;
    let found = look(connections, connection).await?;
    if !found.schema {
        // Asked for only where it is missing: a role may own its schema and not be allowed to make one.
        query(statements.schema_make.clone()).execute(&mut *connection).await?;
    }
    query(statements.schema_table.clone()).execute(&mut *connection).await?;
    for (number, migration) in (1_i64..).zip(MIGRATIONS) {
        if number > found.version {
            raw_sql(render(migration, schema)).execute(&mut *connection).await?;
            query(statements.schema_record.clone()).bind(number).execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// The key of an advisory lock; advisory locks are the database's, so the schema is part of it.
pub(crate) fn advisory_key(purpose: &str, schema: &str, name: &str) -> i64 {
    let digest = Sha256::digest(format!("durable\0{purpose}\0{schema}\0{name}"));
    digest.iter().take(8).fold(0, |key, &byte| (key << 8) | i64::from(byte))
}
