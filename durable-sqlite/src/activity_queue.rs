//! Durable activity rows: claim, settle, try again.

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::id::{ActivityRowId, CommandId, Epoch, InstanceId};
use durable_core::provider::check::{activity_lease_lost, isolate};
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, ClaimedActivity,
    MessageKind, ProviderResult,
};
use durable_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};

use crate::connection::WriteTransaction;
use crate::decode::{self, json_array, unsigned, uuid_bytes};
use crate::error::{Attempt, Failure};
use crate::inbox::{NewMessage, send};
use crate::provider::SqliteProvider;
use crate::sql;

#[async_trait]
impl ActivityQueue for SqliteProvider {
    async fn activity_claim(&self, params: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = claim(&mut transaction, &params).await;
        self.connections().finish(transaction, result).await
    }

    async fn activity_settle(
        &self,
        outcomes: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>> {
        let Some(first) = outcomes.first() else { return Ok(Vec::new()) };
        let mut transaction = self.connections().begin(first.now).await?;
        let result = settle_all(&mut transaction, outcomes).await;
        self.connections().finish(transaction, result).await
    }

    async fn activity_retry(&self, retries: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>> {
        let Some(first) = retries.first() else { return Ok(Vec::new()) };
        let mut transaction = self.connections().begin(first.now).await?;
        let result = retry_all(&mut transaction, retries).await;
        self.connections().finish(transaction, result).await
    }
}

async fn claim(transaction: &mut WriteTransaction, params: &ActivityClaim) -> Attempt<Vec<ClaimedActivity>> {
    let now = transaction.now;
    let connection = transaction.connection();
    let mut picked: Vec<(i64, i64, i64, i64)> = query_as(sql!("activity_claim_pick"))
        .bind(params.queue.as_str())
        .bind(now.as_micros())
        .bind(i64::from(params.limit))
        .bind(json_array(params.types.iter().map(String::as_str)))
        .fetch_all(&mut *connection)
        .await?;
    picked.sort_unstable_by_key(|&(id, priority, eligible_at, _)| (priority, eligible_at, id));
    picked.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
    isolate(&mut picked, |&(.., lost)| lost >= i64::from(params.isolate_at));
    if picked.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<TakenRow> = query_as(sql!("activity_claim"))
        .bind(json_array(picked.iter().map(|&(id, ..)| id)))
        .bind(uuid_bytes(params.incarnation.0))
        .bind(now.plus(params.lease).as_micros())
        .fetch_all(&mut *connection)
        .await?;
    let mut claimed = rows.into_iter().map(|row| taken(row, now)).collect::<Attempt<Vec<_>>>()?;
    claimed.sort_by_key(|activity| picked.iter().position(|&(id, ..)| id == activity.row.0));
    Ok(claimed)
}

/// One row of `activity_claim`.
type TakenRow =
    (i64, i64, i64, String, Vec<u8>, i64, String, Vec<u8>, i64, i64, bool, Option<i64>, Option<Vec<u8>>);

fn taken(row: TakenRow, now: Timestamp) -> Attempt<ClaimedActivity> {
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
    ) = row;
    Ok(ClaimedActivity {
        row: ActivityRowId(id),
        epoch: Epoch(epoch),
        instance: InstanceId(instance),
        workflow_id: decode::workflow_id(workflow_id)?,
        run_id: decode::run_id(&run)?,
        command: CommandId(unsigned(command)?),
        activity_type,
        task: Bytes::from(task),
        attempts: unsigned(attempts)?,
        lost: unsigned(lost)?,
        backoff_due: due,
        deadline: deadline.map(Timestamp::from_micros),
        last_failure: failure.map(Bytes::from),
        now,
    })
}

async fn settle_all(
    transaction: &mut WriteTransaction,
    outcomes: Vec<ActivityOutcome>,
) -> Attempt<Vec<ProviderResult<ActivitySettled>>> {
    let mut settled = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        match settle_one(transaction, outcome).await {
            Ok(answer) => settled.push(Ok(answer)),
            Err(Failure::Refused(error)) => settled.push(Err(error)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(settled)
}

async fn settle_one(
    transaction: &mut WriteTransaction,
    outcome: ActivityOutcome,
) -> Attempt<ActivitySettled> {
    let now = outcome.now.unwrap_or(transaction.now);
    let connection = transaction.connection();
    let ended: Option<i64> = query_scalar(sql!("activity_settle"))
        .bind(outcome.row.0)
        .bind(uuid_bytes(outcome.incarnation.0))
        .bind(outcome.epoch.0)
        .bind(now.as_micros())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(instance) = ended else {
        return Err(activity_lease_lost(outcome.row).into());
    };
    let message = NewMessage {
        instance: InstanceId(instance),
        kind: MessageKind::ActivityOutcome,
        body: outcome.message.to_vec(),
        dedup_key: None,
        now,
    };
    if send(connection, message).await? {
        Ok(ActivitySettled { instance: InstanceId(instance) })
    } else {
        Err(activity_lease_lost(outcome.row).into())
    }
}

async fn retry_all(
    transaction: &mut WriteTransaction,
    retries: Vec<ActivityRetry>,
) -> Attempt<Vec<ProviderResult<()>>> {
    let mut answers = Vec::with_capacity(retries.len());
    for retry in retries {
        let now = retry.now.unwrap_or(transaction.now);
        let done = query(sql!("activity_retry"))
            .bind(retry.row.0)
            .bind(uuid_bytes(retry.incarnation.0))
            .bind(retry.epoch.0)
            .bind(now.as_micros())
            .bind(now.plus(retry.delay).as_micros())
            .bind(i64::from(retry.attempts))
            .bind(retry.last_failure.map(|failure| failure.to_vec()))
            .execute(transaction.connection())
            .await?;
        let held = done.rows_affected() == 1;
        answers.push(if held { Ok(()) } else { Err(activity_lease_lost(retry.row)) });
    }
    Ok(answers)
}
