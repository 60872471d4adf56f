//! Runs: start and claim; [`crate::workflow_commit`] has the commits.

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{ActivityRowId, CommandId, Epoch, EventId, InboxSeq, InstanceId};
use durable_core::limits::CLAIM_HISTORY_BYTES;
use durable_core::provider::check::{
    ExistingInstance, StartDecision, check_start, dead_letter_reason, decide_start, isolate,
};
use durable_core::provider::{
    Claimed, ClaimedRun, CommitBatch, CommitReceipt, InboxMessage, InstanceRef, ProviderResult, RowState,
    StartOutcome, StartRun, WorkflowClaim, WorkflowStore,
};
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_as, query_scalar};

use crate::connection::WriteTransaction;
use crate::decode::{self, json_array, stored, unsigned, uuid_bytes};
use crate::error::{Attempt, Failure};
use crate::provider::SqliteProvider;
use crate::sql;
use crate::workflow_commit::commit_batch;

#[async_trait]
impl WorkflowStore for SqliteProvider {
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
        let Some(first) = starts.first() else { return Ok(Vec::new()) };
        let mut transaction = self.connections().begin(first.now).await?;
        let result = start_all(&mut transaction, starts).await;
        self.connections().finish(transaction, result).await
    }

    async fn workflow_claim(&self, params: WorkflowClaim) -> ProviderResult<Claimed> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = claim(&mut transaction, &params).await;
        self.connections().finish(transaction, result).await
    }

    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        if batch.commits.is_empty() {
            return Ok(Vec::new());
        }
        let mut transaction = self.connections().begin(batch.now).await?;
        let result = commit_batch(&mut transaction, batch).await;
        self.connections().finish(transaction, result).await
    }
}

async fn start_all(
    transaction: &mut WriteTransaction,
    starts: Vec<StartRun>,
) -> Attempt<Vec<ProviderResult<StartOutcome>>> {
    let mut outcomes = Vec::with_capacity(starts.len());
    for start in starts {
        match start_one(transaction, start).await {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(Failure::Refused(error)) => outcomes.push(Err(error)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(outcomes)
}

/// Reads before it writes: under the write lock what it read cannot change (G10).
async fn start_one(transaction: &mut WriteTransaction, start: StartRun) -> Attempt<StartOutcome> {
    check_start(&start)?;
    let now = start.now.unwrap_or(transaction.now).as_micros();
    let connection = transaction.connection();
    let repeated: Option<(i64, Vec<u8>)> = query_as(sql!("workflow_start_request"))
        .bind(uuid_bytes(start.request_id.0))
        .fetch_optional(&mut *connection)
        .await?;
    if let Some((instance, run)) = repeated {
        return Ok(StartOutcome::Started(instance_ref(instance, &run)?));
    }
    let existing: Option<Existing> = query_as(sql!("workflow_start_existing"))
        .bind(start.workflow_id.as_str())
        .fetch_optional(&mut *connection)
        .await?;
    if let Some((instance, run, workflow_type, input_digest, status)) = existing {
        let existing = ExistingInstance { workflow_type, input_digest, status: decode::status(status)? };
        if decide_start(&start, &existing)? == StartDecision::UseExisting {
            return Ok(StartOutcome::Existing(instance_ref(instance, &run)?));
        }
    }
    insert_instance(connection, start, now).await.map(StartOutcome::Started)
}

/// Instance, run, type, digest of the arguments, status.
type Existing = (i64, Vec<u8>, String, Vec<u8>, i64);

async fn insert_instance(
    connection: &mut SqliteConnection,
    start: StartRun,
    now: i64,
) -> Attempt<InstanceRef> {
    let run = uuid_bytes(start.run_id.0);
    let instance: i64 = query_scalar(sql!("workflow_start_instance"))
        .bind(start.workflow_id.as_str())
        .bind(start.workflow_type)
        .bind(start.input_digest.to_vec())
        .bind(uuid_bytes(start.request_id.0))
        .bind(run.clone())
        .bind(start.queue.as_str())
        .bind(i64::from(start.priority))
        .bind(now)
        .bind(stored(start.history.next.0))
        .fetch_one(&mut *connection)
        .await?;
    query(sql!("workflow_start_run"))
        .bind(run.clone())
        .bind(instance)
        .bind(decode::seed_bytes(start.seed))
        .bind(now)
        .execute(&mut *connection)
        .await?;
    query(sql!("history_insert"))
        .bind(run)
        .bind(stored(start.history.first.0))
        .bind(stored(start.history.next.0))
        .bind(start.history.bytes.to_vec())
        .execute(&mut *connection)
        .await?;
    Ok(InstanceRef { instance: InstanceId(instance), run_id: start.run_id })
}

fn instance_ref(instance: i64, run: &[u8]) -> Attempt<InstanceRef> {
    Ok(InstanceRef { instance: InstanceId(instance), run_id: decode::run_id(run)? })
}

async fn claim(transaction: &mut WriteTransaction, params: &WorkflowClaim) -> Attempt<Claimed> {
    let now = transaction.now;
    let connection = transaction.connection();
    let mut picked: Vec<(i64, i64, i64, i64)> = query_as(sql!("workflow_claim_pick"))
        .bind(params.queue.as_str())
        .bind(now.as_micros())
        .bind(i64::from(params.limit))
        .fetch_all(&mut *connection)
        .await?;
    picked.sort_unstable_by_key(|&(id, priority, eligible_at, _)| (priority, eligible_at, id));
    picked.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
    let mut claimed = Claimed { now, runs: Vec::new(), dead_lettered: Vec::new() };
    let mut takeable = Vec::new();
    for (id, _, _, claims) in picked {
        let claims: u32 = unsigned(claims)?;
        if claims < params.max_claims {
            takeable.push((id, claims));
            continue;
        }
        query(sql!("workflow_claim_dead_letter"))
            .bind(id)
            .bind(dead_letter_reason(claims).into_bytes())
            .bind(now.as_micros())
            .execute(&mut *connection)
            .await?;
        claimed.dead_lettered.push(InstanceId(id));
    }
    isolate(&mut takeable, |&(_, claims)| claims >= params.isolate_at);
    let ids: Vec<i64> = takeable.into_iter().map(|(id, _)| id).collect();
    if !ids.is_empty() {
        claimed.runs = take(transaction, params, &ids).await?;
    }
    Ok(claimed)
}

/// One row of `workflow_claim`.
type TakenRow =
    (i64, String, String, String, Vec<u8>, i64, i64, i64, i64, bool, i64, bool, bool, Option<Vec<u8>>);

async fn take(
    transaction: &mut WriteTransaction,
    params: &WorkflowClaim,
    ids: &[i64],
) -> Attempt<Vec<ClaimedRun>> {
    let now = transaction.now;
    let connection = transaction.connection();
    let array = json_array(ids.iter().copied());
    let rows: Vec<TakenRow> = query_as(sql!("workflow_claim"))
        .bind(array.clone())
        .bind(uuid_bytes(params.incarnation.0))
        .bind(now.plus(params.lease).as_micros())
        .bind(now.as_micros())
        .bind(stored(CLAIM_HISTORY_BYTES as u64))
        .fetch_all(&mut *connection)
        .await?;
    let (unread, has_rows) = (rows.iter().any(|row| row.11), rows.iter().any(|row| row.12));
    let mut runs = rows.into_iter().map(taken).collect::<Attempt<Vec<_>>>()?;
    runs.sort_by_key(|run| ids.iter().position(|&id| id == run.instance.0));
    let messages: Vec<(i64, i64, i64, Vec<u8>)> = if unread {
        query_as(sql!("workflow_claim_inbox")).bind(array.clone()).fetch_all(&mut *connection).await?
    } else {
        Vec::new()
    };
    for (instance, seq, kind, body) in messages {
        if let Some(run) = runs.iter_mut().find(|run| run.instance.0 == instance) {
            run.inbox.push(InboxMessage {
                seq: InboxSeq(seq),
                kind: decode::message_kind(kind)?,
                body: Bytes::from(body),
            });
        }
    }
    let activities: Vec<(i64, i64, i64)> = if has_rows {
        query_as(sql!("workflow_claim_activities")).bind(array).fetch_all(&mut *connection).await?
    } else {
        Vec::new()
    };
    for (instance, command, row) in activities {
        if let Some(run) = runs.iter_mut().find(|run| run.instance.0 == instance) {
            run.activity_rows
                .push(RowState { command: CommandId(unsigned(command)?), row: ActivityRowId(row) });
        }
    }
    Ok(runs)
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
        history,
    ) = row;
    let next_event = decode::event_id(next)?;
    Ok(ClaimedRun {
        instance: InstanceId(instance),
        workflow_id: decode::workflow_id(workflow_id)?,
        workflow_type,
        queue: decode::queue(queue)?,
        run_id: decode::run_id(&run)?,
        run_number: unsigned(number)?,
        epoch: Epoch(epoch),
        next_event,
        history: history.map(|bytes| EncodedBatch {
            first: EventId::FIRST,
            next: next_event,
            bytes: Bytes::from(bytes),
        }),
        inbox: Vec::new(),
        activity_rows: Vec::new(),
        claims_without_progress: unsigned(claims)?,
        owner_lost,
        blocked_attempts: unsigned(blocked)?,
    })
}
