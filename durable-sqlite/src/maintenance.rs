//! Leases and sweeps.

use async_trait::async_trait;
use durable_core::id::{ActivityRowId, InstanceId};
use durable_core::provider::{
    LeaseRenewal, LeaseState, Maintenance, PollHint, PollParams, ProviderResult, SweepParams, SweepReport,
};
use durable_core::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_as, query_scalar};

use crate::connection::WriteTransaction;
use crate::decode::{json_array, uuid_bytes};
use crate::error::Attempt;
use crate::provider::SqliteProvider;
use crate::sql;

#[async_trait]
impl Maintenance for SqliteProvider {
    async fn lease_renew(&self, params: LeaseRenewal) -> ProviderResult<LeaseState> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = renew(&mut transaction, &params).await;
        self.connections().finish(transaction, result).await
    }

    async fn lease_reap(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = reap(&mut transaction, params.limit).await;
        self.connections().finish(transaction, result).await
    }

    async fn due_sweep(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = sweep(&mut transaction, sql!("due_sweep"), u64::from(params.limit)).await;
        let instances = self.connections().finish(transaction, result).await?;
        Ok(SweepReport { instances, activities: 0 })
    }

    async fn poll(&self, params: PollParams) -> ProviderResult<PollHint> {
        let mut lent = self.connections().lend_reader().await?;
        let result = poll(&mut lent.connection, &params).await;
        self.connections().end_read(lent, result)
    }
}

async fn renew(transaction: &mut WriteTransaction, params: &LeaseRenewal) -> Attempt<LeaseState> {
    let instances: Vec<(i64, i64)> = params.instances.iter().map(|(id, epoch)| (id.0, epoch.0)).collect();
    let activities: Vec<(i64, i64)> = params.activities.iter().map(|(row, epoch)| (row.0, epoch.0)).collect();
    let lost_instances = renew_rows(transaction, params, sql!("lease_renew_instances"), &instances).await?;
    let lost_activities =
        renew_rows(transaction, params, sql!("lease_renew_activities"), &activities).await?;
    Ok(LeaseState {
        now: transaction.now,
        lost_instances: lost_instances.into_iter().map(InstanceId).collect(),
        lost_activities: lost_activities.into_iter().map(ActivityRowId).collect(),
    })
}

/// Renews and returns what could not be renewed.
async fn renew_rows(
    transaction: &mut WriteTransaction,
    params: &LeaseRenewal,
    statement: &'static str,
    rows: &[(i64, i64)],
) -> Attempt<Vec<i64>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let now = transaction.now;
    let renewed: Vec<i64> = query_scalar(statement)
        .bind(uuid_bytes(params.incarnation.0))
        .bind(json_array(rows.iter().map(|&(id, epoch)| vec![id, epoch])))
        .bind(now.as_micros())
        .bind(now.plus(params.lease).as_micros())
        .fetch_all(transaction.connection())
        .await?;
    let renewed: std::collections::HashSet<i64> = renewed.into_iter().collect();
    Ok(rows.iter().map(|&(id, _)| id).filter(|id| !renewed.contains(id)).collect())
}

async fn reap(transaction: &mut WriteTransaction, limit: u32) -> Attempt<SweepReport> {
    let limit = u64::from(limit);
    let instances = sweep(transaction, sql!("lease_reap_instances"), limit).await?;
    let left = limit.saturating_sub(instances);
    let activities = sweep(transaction, sql!("lease_reap_activities"), left).await?;
    Ok(SweepReport { instances, activities })
}

async fn sweep(transaction: &mut WriteTransaction, statement: &'static str, limit: u64) -> Attempt<u64> {
    let now = transaction.now.as_micros();
    let done = query(statement)
        .bind(now)
        .bind(crate::decode::stored(limit))
        .execute(transaction.connection())
        .await?;
    Ok(done.rows_affected())
}

async fn poll(connection: &mut SqliteConnection, params: &PollParams) -> Attempt<PollHint> {
    let (now, runnable, due, expired, activities, inbox, next_due): (
        i64,
        bool,
        bool,
        bool,
        bool,
        bool,
        Option<i64>,
    ) = query_as(sql!("poll"))
        .bind(params.now.map(Timestamp::as_micros))
        .bind(uuid_bytes(params.incarnation.0))
        .bind(json_array(params.queues.iter().map(durable_core::id::QueueName::as_str)))
        .bind(json_array(params.activity_types.iter().map(String::as_str)))
        .fetch_one(connection)
        .await?;
    Ok(PollHint {
        now: Timestamp::from_micros(now),
        runnable,
        due,
        expired,
        activities,
        inbox,
        next_due: next_due.map(Timestamp::from_micros),
    })
}
