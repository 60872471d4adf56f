//! Workers: slots, incarnations, and who is dead.

use async_trait::async_trait;
use durable_core::id::{Incarnation, SlotName};
use durable_core::provider::{ProviderResult, Registered, WorkerRegistration, Workers};
use durable_core::time::Timestamp;
use sqlx::query;

use crate::connection::WriteTransaction;
use crate::decode::{build_text, uuid_bytes};
use crate::error::Attempt;
use crate::provider::SqliteProvider;
use crate::sql;

#[async_trait]
impl Workers for SqliteProvider {
    async fn worker_register(&self, params: WorkerRegistration) -> ProviderResult<Registered> {
        // The lock comes first: whoever registered under the slot before is dead once it is ours.
        let (slot, lock) = self.slots().take(params.slot.as_ref())?;
        let mut transaction = self.connections().begin(params.now).await?;
        let result = register(&mut transaction, &params, &slot).await;
        let (freed, now) = self.connections().finish(transaction, result).await?;
        self.slots().hold(params.incarnation, lock);
        Ok(Registered { slot, freed, now })
    }

    async fn worker_deregister(&self, incarnation: Incarnation) -> ProviderResult<()> {
        let mut transaction = self.connections().begin(None).await?;
        let result = deregister(&mut transaction, incarnation).await;
        self.connections().finish(transaction, result).await?;
        self.slots().release(incarnation);
        Ok(())
    }
}

async fn register(
    transaction: &mut WriteTransaction,
    params: &WorkerRegistration,
    slot: &SlotName,
) -> Attempt<(u64, Timestamp)> {
    let now = transaction.now;
    let connection = transaction.connection();
    let mut freed = 0;
    for statement in [sql!("worker_free_instances"), sql!("worker_free_activities")] {
        let done =
            query(statement).bind(slot.as_str()).bind(now.as_micros()).execute(&mut *connection).await?;
        freed += done.rows_affected();
    }
    query(sql!("worker_forget")).bind(slot.as_str()).execute(&mut *connection).await?;
    query(sql!("worker_register"))
        .bind(uuid_bytes(params.incarnation.0))
        .bind(slot.as_str())
        .bind(build_text(&params.build))
        .bind(now.as_micros())
        .execute(&mut *connection)
        .await?;
    query(sql!("worker_unblock"))
        .bind(build_text(&params.build))
        .bind(now.as_micros())
        .execute(&mut *connection)
        .await?;
    Ok((freed, now))
}

async fn deregister(transaction: &mut WriteTransaction, incarnation: Incarnation) -> Attempt<()> {
    query(sql!("worker_deregister"))
        .bind(uuid_bytes(incarnation.0))
        .execute(transaction.connection())
        .await?;
    Ok(())
}
