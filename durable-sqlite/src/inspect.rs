//! Reads: instances and histories, as last acknowledged (G12).

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{EventId, InstanceId, WorkflowId};
use durable_core::provider::check::{check_stored_rows, missing_events, unknown_run};
use durable_core::provider::{
    BlockedView, HistoryPage, HistoryRead, Inspect, InstanceView, OpenInstances, ProviderResult,
};
use durable_core::time::Timestamp;
use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query_as, query_scalar};

use crate::decode::{self, stored, text, unsigned, uuid_bytes};
use crate::error::Attempt;
use crate::provider::SqliteProvider;
use crate::sql;

#[async_trait]
impl Inspect for SqliteProvider {
    async fn instance_find(&self, workflow_id: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        let mut lent = self.connections().lend_reader().await?;
        let row = query_as(sql!("instance_find"))
            .bind(workflow_id.as_str())
            .fetch_optional(&mut lent.connection)
            .await
            .map_err(Into::into);
        self.connections().end_read(lent, row.and_then(view_of))
    }

    async fn instance_view(&self, instance: InstanceId) -> ProviderResult<Option<InstanceView>> {
        let mut lent = self.connections().lend_reader().await?;
        let row = query_as(sql!("instance_view"))
            .bind(instance.0)
            .fetch_optional(&mut lent.connection)
            .await
            .map_err(Into::into);
        self.connections().end_read(lent, row.and_then(view_of))
    }

    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>> {
        let mut lent = self.connections().lend_reader().await?;
        let rows = query_as(sql!("instances_open"))
            .bind(params.after.as_ref().map_or("", WorkflowId::as_str))
            .bind(i64::from(params.limit))
            .fetch_all(&mut lent.connection)
            .await
            .map_err(Into::into);
        self.connections().end_read(lent, rows.and_then(views_of))
    }

    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage> {
        let mut lent = self.connections().lend_reader().await?;
        let result = read_page(&mut lent.connection, params).await;
        self.connections().end_read(lent, result)
    }
}

/// One row of `instance_find`, `instance_view` and `instances_open`.
type ViewRow = (
    i64,
    String,
    String,
    Vec<u8>,
    i64,
    i64,
    Option<Vec<u8>>,
    i64,
    Option<i64>,
    Option<Vec<u8>>,
    i64,
    i64,
    Option<i64>,
    Option<Vec<u8>>,
);

fn view_of(row: Option<ViewRow>) -> Attempt<Option<InstanceView>> {
    row.map(view).transpose()
}

fn views_of(rows: Vec<ViewRow>) -> Attempt<Vec<InstanceView>> {
    rows.into_iter().map(view).collect()
}

fn view(row: ViewRow) -> Attempt<InstanceView> {
    let (
        id,
        workflow_id,
        workflow_type,
        run,
        number,
        status,
        reason,
        attempts,
        wake_at,
        dead,
        next,
        created,
        closed,
        outcome,
    ) = row;
    let attempts = unsigned(attempts)?;
    let retry_at = wake_at.map(Timestamp::from_micros);
    Ok(InstanceView {
        instance: InstanceId(id),
        workflow_id: decode::workflow_id(workflow_id)?,
        workflow_type,
        run_id: decode::run_id(&run)?,
        run_number: unsigned(number)?,
        status: decode::status(status)?,
        blocked: reason.map(|reason| BlockedView { reason: text(reason), attempts, retry_at }),
        dead_letter_reason: dead.map(text),
        events: unsigned::<u64>(next)?.saturating_sub(1),
        created_at: Timestamp::from_micros(created),
        closed_at: closed.map(Timestamp::from_micros),
        outcome: outcome.map(Bytes::from),
    })
}

async fn read_page(connection: &mut SqliteConnection, params: HistoryRead) -> Attempt<HistoryPage> {
    let run = uuid_bytes(params.run_id.0);
    let end: Option<Option<i64>> =
        query_scalar(sql!("history_end")).bind(run.clone()).fetch_optional(&mut *connection).await?;
    let Some(end) = end else {
        return Err(unknown_run(params.run_id).into());
    };
    let (rows, next) = read_rows(connection, run, params).await?;
    let reached = check_stored_rows(params.run_id, params.from, &rows)?;
    match (next, end) {
        (Some(next), _) if next != reached => {
            // The page is full; the row after it must follow.
            let ahead = EncodedBatch { first: next, next: next.next(), bytes: Bytes::new() };
            check_stored_rows(params.run_id, reached, &[ahead])?;
        }
        (None, Some(end)) if stored(reached.0) < end => {
            let end = decode::event_id(end)?;
            return Err(missing_events(params.run_id, reached, end).into());
        }
        _ => {}
    }
    Ok(HistoryPage { rows, next })
}

/// The rows of one page, and where the next one begins.
async fn read_rows(
    connection: &mut SqliteConnection,
    run: Vec<u8>,
    params: HistoryRead,
) -> Attempt<(Vec<EncodedBatch>, Option<EventId>)> {
    let mut stream = query_as::<_, (i64, i64, Vec<u8>)>(sql!("history_read"))
        .bind(run)
        .bind(stored(params.from.0))
        .fetch(connection);
    let mut rows = Vec::new();
    let mut size = 0;
    while let Some((first, next, bytes)) = stream.try_next().await? {
        let first = decode::event_id(first)?;
        if size >= params.max_bytes && !rows.is_empty() {
            return Ok((rows, Some(first)));
        }
        size += bytes.len();
        rows.push(EncodedBatch { first, next: decode::event_id(next)?, bytes: Bytes::from(bytes) });
    }
    Ok((rows, None))
}
