//! Workers: slots, incarnations, and who is dead.

use async_trait::async_trait;
use durable_core::id::{Incarnation, SlotName};
use durable_core::provider::{ProviderResult, Registered, WorkerRegistration, Workers};
use durable_core::time::Timestamp;
use sqlx::postgres::PgConnection;
use sqlx::{query, query_scalar};

use crate::connection::Connections;
use crate::error::Attempt;
use crate::provider::PostgresProvider;

#[async_trait]
impl Workers for PostgresProvider {
    async fn worker_register(&self, params: WorkerRegistration) -> ProviderResult<Registered> {
        // The lock comes first: whoever registered under the slot before has lost its connection.
        let connections = self.connections();
        let (slot, lock) = self.slots().take(connections, params.slot.as_ref()).await?;
        let mut transaction = connections.begin().await?;
        let result = register(connections, transaction.connection(), &params, &slot).await;
        let (freed, now) = connections.finish(transaction, result).await?;
        self.slots().hold(params.incarnation, slot.clone(), lock);
        Ok(Registered { slot, freed, now })
    }

    async fn worker_deregister(&self, incarnation: Incarnation) -> ProviderResult<()> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = query(connections.statements().worker_deregister.clone())
            .bind(incarnation.0)
            .execute(&mut lent.connection)
            .await;
        connections.end(lent, result.map_err(Into::into))?;
        self.slots().release(connections, incarnation).await;
        Ok(())
    }
}

async fn register(
    connections: &Connections,
    connection: &mut PgConnection,
    params: &WorkerRegistration,
    slot: &SlotName,
) -> Attempt<(u64, Timestamp)> {
    let statements = connections.statements();
    let test_clock = params.now.map(Timestamp::as_micros);
    // This one waits for locks, so it comes before what takes others by skipping (G10).
    query(statements.worker_unblock.clone())
        .bind(params.build.as_str())
        .bind(test_clock)
        .execute(&mut *connection)
        .await?;
    query(statements.worker_supersede.clone())
        .bind(slot.as_str())
        .bind(test_clock)
        .execute(&mut *connection)
        .await?;
    let freed = free_superseded(connections, connection, params.now).await?;
    let now: i64 = query_scalar(statements.worker_register.clone())
        .bind(params.incarnation.0)
        .bind(slot.as_str())
        .bind(params.build.as_str())
        .bind(test_clock)
        .fetch_one(connection)
        .await?;
    Ok((freed.0 + freed.1, Timestamp::from_micros(now)))
}

/// Frees what workers still hold that were superseded a takeover delay ago: instances, activity rows.
pub(crate) async fn free_superseded(
    connections: &Connections,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
) -> Attempt<(u64, u64)> {
    let statements = connections.statements();
    let test_clock = now.map(Timestamp::as_micros);
    let delay = connections.options().takeover_delay_micros();
    let mut freed = [0; 3];
    let texts =
        [&statements.worker_free_instances, &statements.worker_free_activities, &statements.worker_forget];
    for (count, text) in freed.iter_mut().zip(texts) {
        let done = query(text.clone()).bind(test_clock).bind(delay).execute(&mut *connection).await?;
        *count = done.rows_affected();
    }
    Ok((freed[0], freed[1]))
}
