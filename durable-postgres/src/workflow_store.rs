//! Runs: start and claim; [`crate::workflow_commit`] has the commits.

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{ActivityRowId, CommandId, Epoch, EventId, InboxSeq, InstanceId, RunId};
use durable_core::limits::CLAIM_HISTORY_BYTES;
use durable_core::provider::check::{dead_letter_reason, isolate};
use durable_core::provider::{
    Claimed, ClaimedRun, CommitBatch, CommitReceipt, InboxMessage, ProviderResult, RowState, StartOutcome,
    StartRun, WorkflowClaim, WorkflowStore,
};
use durable_core::time::{Timestamp, micros};
use sqlx::postgres::PgConnection;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::connection::clock_read;
use crate::decode::{self, unsigned};
use crate::error::Attempt;
use crate::provider::PostgresProvider;
use crate::statements::Statements;
use crate::workflow_commit::Flush;
use crate::workflow_start::start_all;

#[async_trait]
impl WorkflowStore for PostgresProvider {
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
        if starts.is_empty() {
            return Ok(Vec::new());
        }
        let connections = self.connections();
        let mut transaction = connections.begin().await?;
        let result = start_all(connections.statements(), transaction.connection(), starts).await;
        connections.finish(transaction, result).await
    }

    async fn workflow_claim(&self, params: WorkflowClaim) -> ProviderResult<Claimed> {
        self.slots().check(params.incarnation).await?;
        let connections = self.connections();
        let mut transaction = connections.begin().await?;
        let result = claim(connections.statements(), transaction.connection(), &params).await;
        connections.finish(transaction, result).await
    }

    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        if batch.commits.is_empty() {
            return Ok(Vec::new());
        }
        let (connections, flush) = (self.connections(), Flush::of(batch));
        if flush.is_one_statement() {
            let mut lent = connections.lend().await?;
            let result = flush.write(connections.statements(), &mut lent.connection).await;
            return connections.end(lent, result);
        }
        let mut transaction = connections.begin().await?;
        let result = flush.write(connections.statements(), transaction.connection()).await;
        connections.finish(transaction, result).await
    }
}

/// One transaction: what is picked stays locked until it is taken and read, so that no outcome slips between the
/// rows and the messages that a claim brings.
async fn claim(
    statements: &Statements,
    connection: &mut PgConnection,
    params: &WorkflowClaim,
) -> Attempt<Claimed> {
    let test_clock = params.now.map(Timestamp::as_micros);
    let mut picked: Vec<(i64, i16, i64, i32)> = query_as(statements.workflow_claim_pick.clone())
        .bind(params.queue.as_str())
        .bind(test_clock)
        .bind(i64::from(params.limit))
        .fetch_all(&mut *connection)
        .await?;
    picked.sort_unstable_by_key(|&(id, priority, eligible_at, _)| (priority, eligible_at, id));
    let (mut takeable, mut dead_lettered) = (Vec::new(), Vec::new());
    for (id, _, _, claims) in picked {
        let claims: u32 = unsigned(claims.into())?;
        if claims < params.max_claims {
            takeable.push((id, claims));
            continue;
        }
        query(statements.workflow_claim_dead_letter.clone())
            .bind(id)
            .bind(dead_letter_reason(claims).into_bytes())
            .bind(test_clock)
            .execute(&mut *connection)
            .await?;
        dead_lettered.push(InstanceId(id));
    }
    isolate(&mut takeable, |&(_, claims)| claims >= params.isolate_at);
    let ids: Vec<i64> = takeable.into_iter().map(|(id, _)| id).collect();
    if ids.is_empty() {
        let now = clock_read(statements, connection, params.now).await?;
        return Ok(Claimed { now, runs: Vec::new(), dead_lettered });
    }
    let (now, runs) = take(statements, connection, params, ids).await?;
    Ok(Claimed { now, runs, dead_lettered })
}

/// One row of `workflow_claim`.
type TakenRow =
    (i64, String, String, String, Uuid, i32, i64, i64, i32, bool, i32, i64, bool, bool, Option<Vec<u8>>);

async fn take(
    statements: &Statements,
    connection: &mut PgConnection,
    params: &WorkflowClaim,
    ids: Vec<i64>,
) -> Attempt<(Timestamp, Vec<ClaimedRun>)> {
    let rows: Vec<TakenRow> = query_as(statements.workflow_claim.clone())
        .bind(&ids)
        .bind(params.incarnation.0)
        .bind(micros(params.lease))
        .bind(params.now.map(Timestamp::as_micros))
        .bind(i32::try_from(CLAIM_HISTORY_BYTES).unwrap_or(i32::MAX))
        .fetch_all(&mut *connection)
        .await?;
    let now = rows.first().map_or(0, |row| row.11);
    let (unread, has_rows) = (rows.iter().any(|row| row.12), rows.iter().any(|row| row.13));
    let mut runs = rows.into_iter().map(taken).collect::<Attempt<Vec<_>>>()?;
    let order: HashMap<i64, usize> = ids.iter().copied().zip(0..).collect();
    runs.sort_by_key(|run| order.get(&run.instance.0).copied());
    let place: HashMap<i64, usize> = runs.iter().map(|run| run.instance.0).zip(0..).collect();
    let messages: Vec<(i64, i64, i16, Vec<u8>)> = if unread {
        query_as(statements.workflow_claim_inbox.clone()).bind(&ids).fetch_all(&mut *connection).await?
    } else {
        Vec::new()
    };
    for (instance, seq, kind, body) in messages {
        if let Some(&place) = place.get(&instance) {
            runs[place].inbox.push(InboxMessage {
                seq: InboxSeq(seq),
                kind: decode::message_kind(kind)?,
                body: Bytes::from(body),
            });
        }
    }
    let activities: Vec<(i64, i64, i64)> = if has_rows {
        query_as(statements.workflow_claim_activities.clone()).bind(&ids).fetch_all(connection).await?
    } else {
        Vec::new()
    };
    for (instance, command, row) in activities {
        if let Some(&place) = place.get(&instance) {
            let row = RowState { command: CommandId(unsigned(command)?), row: ActivityRowId(row) };
            runs[place].activity_rows.push(row);
        }
    }
    Ok((Timestamp::from_micros(now), runs))
}

fn taken(row: TakenRow) -> Attempt<ClaimedRun> {
    let (
        instance,
        workflow_id,
        workflow_type,
        queue,
        run,
        number,
        epoch,
        next,
        claims,
        owner_lost,
        blocked,
        _,
        _,
        _,
        history,
    ) = row;
    let next_event = decode::event_id(next)?;
    Ok(ClaimedRun {
        instance: InstanceId(instance),
        workflow_id: decode::workflow_id(workflow_id)?,
        workflow_type,
        queue: decode::queue(queue)?,
        run_id: RunId(run),
        run_number: unsigned(number.into())?,
        epoch: Epoch(epoch),
        next_event,
        history: history.map(|bytes| EncodedBatch {
            first: EventId::FIRST,
            next: next_event,
            bytes: Bytes::from(bytes),
        }),
        inbox: Vec::new(),
        activity_rows: Vec::new(),
        claims_without_progress: unsigned(claims.into())?,
        owner_lost,
        blocked_attempts: unsigned(blocked.into())?,
    })
}
