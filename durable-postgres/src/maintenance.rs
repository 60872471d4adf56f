//! Leases and sweeps.

use async_trait::async_trait;
use durable_core::id::{ActivityRowId, InstanceId};
use durable_core::provider::{
    LeaseRenewal, LeaseState, Maintenance, PollHint, PollParams, ProviderResult, SweepParams, SweepReport,
};
use durable_core::time::{Timestamp, micros};
use sqlx::postgres::PgConnection;
use sqlx::{SqlStr, query, query_as};

use crate::connection::{Connections, clock_read};
use crate::decode::{JOINED_MAX, names};
use crate::error::Attempt;
use crate::provider::PostgresProvider;
use crate::statements::Statements;
use crate::workers::free_superseded;

#[async_trait]
impl Maintenance for PostgresProvider {
    async fn lease_renew(&self, params: LeaseRenewal) -> ProviderResult<LeaseState> {
        let connections = self.connections();
        let alive = self.slots().is_alive(connections, params.incarnation).await?;
        let mut lent = connections.lend().await?;
        let result = if alive {
            renew(connections.statements(), &mut lent.connection, &params).await
        } else {
            give_up(connections.statements(), &mut lent.connection, &params).await
        };
        connections.end(lent, result)
    }

    async fn lease_reap(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = reap(connections, &mut lent.connection, params).await;
        connections.end(lent, result)
    }

    async fn due_sweep(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let statement = connections.statements().due_sweep.clone();
        let result = sweep(&mut lent.connection, statement, params.now, params.limit.into()).await;
        let instances = connections.end(lent, result)?;
        Ok(SweepReport { instances, activities: 0 })
    }

    async fn poll(&self, params: PollParams) -> ProviderResult<PollHint> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = poll(connections, &mut lent.connection, &params).await;
        connections.end(lent, result)
    }
}

async fn renew(
    statements: &Statements,
    connection: &mut PgConnection,
    params: &LeaseRenewal,
) -> Attempt<LeaseState> {
    let instances: Vec<(i64, i64)> = params.instances.iter().map(|(id, epoch)| (id.0, epoch.0)).collect();
    let activities: Vec<(i64, i64)> = params.activities.iter().map(|(row, epoch)| (row.0, epoch.0)).collect();
    let (instances_at, lost_instances) =
        renew_rows(connection, params, statements.lease_renew_instances.clone(), &instances).await?;
    let (activities_at, lost_activities) =
        renew_rows(connection, params, statements.lease_renew_activities.clone(), &activities).await?;
    let now = match activities_at.or(instances_at) {
        Some(now) => now,
        None => clock_read(statements, connection, params.now).await?,
    };
    Ok(LeaseState {
        now,
        lost_instances: lost_instances.into_iter().map(InstanceId).collect(),
        lost_activities: lost_activities.into_iter().map(ActivityRowId).collect(),
    })
}

/// Renews; returns when, and what is lost.
async fn renew_rows(
    connection: &mut PgConnection,
    params: &LeaseRenewal,
    statement: SqlStr,
    rows: &[(i64, i64)],
) -> Attempt<(Option<Timestamp>, Vec<i64>)> {
    let (mut now, mut lost) = (None, Vec::new());
    for part in rows.chunks(JOINED_MAX) {
        let (ids, epochs): (Vec<i64>, Vec<i64>) = part.iter().copied().unzip();
        let answers: Vec<(i64, bool, i64)> = query_as(statement.clone())
            .bind(params.incarnation.0)
            .bind(ids)
            .bind(epochs)
            .bind(params.now.map(Timestamp::as_micros))
            .bind(micros(params.lease))
            .fetch_all(&mut *connection)
            .await?;
        now = answers.first().map(|&(_, _, now)| Timestamp::from_micros(now));
        lost.extend(answers.into_iter().filter(|&(_, lost, _)| lost).map(|(id, ..)| id));
    }
    Ok((now, lost))
}

/// A successor has the worker's slot: everything that it holds is lost.
async fn give_up(
    statements: &Statements,
    connection: &mut PgConnection,
    params: &LeaseRenewal,
) -> Attempt<LeaseState> {
    Ok(LeaseState {
        now: clock_read(statements, connection, params.now).await?,
        lost_instances: params.instances.iter().map(|&(id, _)| id).collect(),
        lost_activities: params.activities.iter().map(|&(row, _)| row).collect(),
    })
}

async fn reap(
    connections: &Connections,
    connection: &mut PgConnection,
    params: SweepParams,
) -> Attempt<SweepReport> {
    let statements = connections.statements();
    let limit = i64::from(params.limit);
    let expired = sweep(&mut *connection, statements.lease_reap_instances.clone(), params.now, limit).await?;
    let left = limit.saturating_sub_unsigned(expired);
    let lost = sweep(&mut *connection, statements.lease_reap_activities.clone(), params.now, left).await?;
    let (instances, activities) = free_superseded(connections, connection, params.now).await?;
    Ok(SweepReport { instances: expired + instances, activities: lost + activities })
}

async fn sweep(
    connection: &mut PgConnection,
    statement: SqlStr,
    now: Option<Timestamp>,
    limit: i64,
) -> Attempt<u64> {
    let done = query(statement).bind(now.map(Timestamp::as_micros)).bind(limit).execute(connection).await?;
    Ok(done.rows_affected())
}

async fn poll(
    connections: &Connections,
    connection: &mut PgConnection,
    params: &PollParams,
) -> Attempt<PollHint> {
    let (now, runnable, due, expired, activities, inbox, next_due): (
        i64,
        bool,
        bool,
        bool,
        bool,
        bool,
        Option<i64>,
    ) = query_as(connections.statements().poll.clone())
        .bind(params.now.map(Timestamp::as_micros))
        .bind(params.incarnation.0)
        .bind(names(params.queues.iter().map(durable_core::id::QueueName::as_str)))
        .bind(names(params.activity_types.iter().map(String::as_str)))
        .bind(connections.options().takeover_delay_micros())
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
