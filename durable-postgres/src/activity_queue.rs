//! Durable activity rows: claim, settle, try again.

use std::collections::HashSet;

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::id::{ActivityRowId, CommandId, Epoch, InstanceId, RunId};
use durable_core::provider::check::{activity_lease_lost, isolate};
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, ClaimedActivity,
    MessageKind, ProviderResult,
};
use durable_core::time::{Timestamp, micros};
use sqlx::postgres::PgConnection;
use sqlx::{query_as, query_scalar};
use uuid::Uuid;

use crate::decode::{self, count, names, unsigned, waves};
use crate::error::Attempt;
use crate::inbox::{NewMessage, send};
use crate::provider::PostgresProvider;
use crate::statements::Statements;

#[async_trait]
impl ActivityQueue for PostgresProvider {
    async fn activity_claim(&self, params: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>> {
        self.slots().check(params.incarnation).await?;
        let connections = self.connections();
        let mut transaction = connections.begin().await?;
        let result = claim(connections.statements(), transaction.connection(), &params).await;
        connections.finish(transaction, result).await
    }

    async fn activity_settle(
        &self,
        outcomes: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>> {
        if outcomes.is_empty() {
            return Ok(Vec::new());
        }
        let connections = self.connections();
        let mut transaction = connections.begin().await?;
        let result = settle_all(connections.statements(), transaction.connection(), outcomes).await;
        connections.finish(transaction, result).await
    }

    async fn activity_retry(&self, retries: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>> {
        if retries.is_empty() {
            return Ok(Vec::new());
        }
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = retry_all(connections.statements(), &mut lent.connection, retries).await;
        connections.end(lent, result)
    }
}

async fn claim(
    statements: &Statements,
    connection: &mut PgConnection,
    params: &ActivityClaim,
) -> Attempt<Vec<ClaimedActivity>> {
    let test_clock = params.now.map(Timestamp::as_micros);
    let mut picked: Vec<(i64, i16, i64, i32)> = query_as(statements.activity_claim_pick.clone())
        .bind(params.queue.as_str())
        .bind(test_clock)
        .bind(i64::from(params.limit))
        .bind(names(params.types.iter().map(String::as_str)))
        .fetch_all(&mut *connection)
        .await?;
    picked.sort_unstable_by_key(|&(id, priority, eligible_at, _)| (priority, eligible_at, id));
    picked.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
    // What is cut off stays locked until the end of this short transaction, and is free again then.
    isolate(&mut picked, |&(.., lost)| i64::from(lost) >= i64::from(params.isolate_at));
    if picked.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<i64> = picked.iter().map(|&(id, ..)| id).collect();
    let rows: Vec<TakenRow> = query_as(statements.activity_claim.clone())
        .bind(&ids)
        .bind(params.incarnation.0)
        .bind(micros(params.lease))
        .bind(test_clock)
        .fetch_all(connection)
        .await?;
    let mut claimed = rows.into_iter().map(taken).collect::<Attempt<Vec<_>>>()?;
    let place: std::collections::HashMap<i64, usize> = ids.into_iter().zip(0..).collect();
    claimed.sort_by_key(|activity| place.get(&activity.row.0).copied());
    Ok(claimed)
}

/// One row of `activity_claim`.
type TakenRow =
    (i64, i64, i64, String, Uuid, i64, String, Vec<u8>, i32, i32, bool, Option<i64>, Option<Vec<u8>>, i64);

fn taken(row: TakenRow) -> Attempt<ClaimedActivity> {
    let (
        id,
        epoch,
        instance,
        workflow_id,
        run,
        command,
        activity_type,
        task,
        attempts,
        lost,
        due,
        deadline,
        failure,
        now,
    ) = row;
    Ok(ClaimedActivity {
        row: ActivityRowId(id),
        epoch: Epoch(epoch),
        instance: InstanceId(instance),
        workflow_id: decode::workflow_id(workflow_id)?,
        run_id: RunId(run),
        command: CommandId(unsigned(command)?),
        activity_type,
        task: Bytes::from(task),
        attempts: unsigned(attempts.into())?,
        lost: unsigned(lost.into())?,
        backoff_due: due,
        deadline: deadline.map(Timestamp::from_micros),
        last_failure: failure.map(Bytes::from),
        now: Timestamp::from_micros(now),
    })
}

/// Instances first, then rows, each in order of id (G10).
async fn settle_all(
    statements: &Statements,
    connection: &mut PgConnection,
    outcomes: Vec<ActivityOutcome>,
) -> Attempt<Vec<ProviderResult<ActivitySettled>>> {
    let rows: Vec<i64> = outcomes.iter().map(|outcome| outcome.row.0).collect();
    let locked: Vec<(i64, i16)> =
        query_as(statements.activity_settle_lock.clone()).bind(rows).fetch_all(&mut *connection).await?;
    let mut open = HashSet::new();
    for (instance, status) in locked {
        if decode::status(status)?.is_open() {
            open.insert(instance);
        }
    }
    let mut answers: Vec<ProviderResult<ActivitySettled>> =
        outcomes.iter().map(|outcome| Err(activity_lease_lost(outcome.row))).collect();
    for wave in waves(outcomes, |outcome| outcome.row) {
        let ended = settle_wave(statements, &mut *connection, &wave).await?;
        let mut messages = Vec::new();
        for (place, outcome) in wave {
            // No row outlives its instance's end; if one did, its outcome would be nobody's.
            let Some(&instance) = ended.get(&outcome.row.0).filter(|id| open.contains(*id)) else { continue };
            answers[place] = Ok(ActivitySettled { instance: InstanceId(instance) });
            messages.push(NewMessage {
                instance,
                kind: MessageKind::ActivityOutcome,
                body: outcome.message.to_vec(),
                dedup_key: None,
                now: outcome.now,
            });
        }
        if !messages.is_empty() {
            send(statements, &mut *connection, messages).await?;
        }
    }
    Ok(answers)
}

/// Ends rows whose guards hold; returns the instance of each.
async fn settle_wave(
    statements: &Statements,
    connection: &mut PgConnection,
    wave: &[(usize, ActivityOutcome)],
) -> Attempt<std::collections::HashMap<i64, i64>> {
    let each = || wave.iter().map(|(_, outcome)| outcome);
    let ended: Vec<(i64, i64)> = query_as(statements.activity_settle.clone())
        .bind(each().map(|outcome| outcome.row.0).collect::<Vec<_>>())
        .bind(each().map(|outcome| outcome.incarnation.0).collect::<Vec<_>>())
        .bind(each().map(|outcome| outcome.epoch.0).collect::<Vec<_>>())
        .bind(each().map(|outcome| outcome.now.map(Timestamp::as_micros)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(ended.into_iter().collect())
}

async fn retry_all(
    statements: &Statements,
    connection: &mut PgConnection,
    retries: Vec<ActivityRetry>,
) -> Attempt<Vec<ProviderResult<()>>> {
    let mut answers: Vec<ProviderResult<()>> =
        retries.iter().map(|retry| Err(activity_lease_lost(retry.row))).collect();
    for wave in waves(retries, |retry| retry.row) {
        let each = || wave.iter().map(|(_, retry)| retry);
        let failures = each().map(|retry| retry.last_failure.as_ref().map(|failure| failure.to_vec()));
        let given_back: Vec<i64> = query_scalar(statements.activity_retry.clone())
            .bind(each().map(|retry| retry.row.0).collect::<Vec<_>>())
            .bind(each().map(|retry| retry.incarnation.0).collect::<Vec<_>>())
            .bind(each().map(|retry| retry.epoch.0).collect::<Vec<_>>())
            .bind(each().map(|retry| retry.now.map(Timestamp::as_micros)).collect::<Vec<_>>())
            .bind(each().map(|retry| micros(retry.delay)).collect::<Vec<_>>())
            .bind(each().map(|retry| count(retry.attempts)).collect::<Vec<_>>())
            .bind(failures.collect::<Vec<_>>())
            .fetch_all(&mut *connection)
            .await?;
        let given_back: HashSet<i64> = given_back.into_iter().collect();
        for (place, retry) in wave {
            if given_back.contains(&retry.row.0) {
                answers[place] = Ok(());
            }
        }
    }
    Ok(answers)
}
