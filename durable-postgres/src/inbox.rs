//! The inbox: messages for an instance that are not yet history.

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::id::{InboxSeq, Incarnation, InstanceId};
use durable_core::provider::check::unknown_instance;
use durable_core::provider::{
    CancelRequest, Inbox, InboxMessage, InboxRead, MessageKind, ProviderResult, SendOutcome,
};
use durable_core::time::Timestamp;
use sqlx::postgres::PgConnection;
use sqlx::{query, query_as, query_scalar};

use crate::decode;
use crate::error::Attempt;
use crate::provider::PostgresProvider;
use crate::statements::Statements;

#[async_trait]
impl Inbox for PostgresProvider {
    async fn cancel_request(&self, params: CancelRequest) -> ProviderResult<SendOutcome> {
        let connections = self.connections();
        let mut transaction = connections.begin().await?;
        let result = cancel(connections.statements(), transaction.connection(), params).await;
        connections.finish(transaction, result).await
    }

    async fn inbox_read(&self, params: InboxRead) -> ProviderResult<Vec<InboxMessage>> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result = read(connections.statements(), &mut lent.connection, params).await;
        connections.end(lent, result)
    }

    async fn inbox_pending(&self, incarnation: Incarnation) -> ProviderResult<Vec<InstanceId>> {
        let connections = self.connections();
        let mut lent = connections.lend().await?;
        let result: Attempt<Vec<i64>> = query_scalar(connections.statements().inbox_pending.clone())
            .bind(incarnation.0)
            .fetch_all(&mut lent.connection)
            .await
            .map_err(Into::into);
        let ids = connections.end(lent, result)?;
        Ok(ids.into_iter().map(InstanceId).collect())
    }
}

/// A message to be sent.
pub(crate) struct NewMessage {
    pub(crate) instance: i64,
    pub(crate) kind: MessageKind,
    pub(crate) body: Vec<u8>,
    pub(crate) dedup_key: Option<Vec<u8>>,
    pub(crate) now: Option<Timestamp>,
}

/// Puts messages into the inboxes of open instances, whose locks are held, and wakes the instances (G6). Messages
/// of one instance get their positions in order.
pub(crate) async fn send(
    statements: &Statements,
    connection: &mut PgConnection,
    messages: Vec<NewMessage>,
) -> Attempt<()> {
    let mut counts: HashMap<i64, (i64, Option<i64>)> = HashMap::new();
    for message in &messages {
        let count = counts.entry(message.instance).or_default();
        count.0 += 1;
        count.1 = message.now.map(Timestamp::as_micros);
    }
    let (ids, counted): (Vec<i64>, Vec<(i64, Option<i64>)>) = counts.into_iter().unzip();
    let (counts, clocks): (Vec<i64>, Vec<Option<i64>>) = counted.into_iter().unzip();
    let raised: Vec<(i64, i64, i64)> = query_as(statements.inbox_raise.clone())
        .bind(&ids)
        .bind(&counts)
        .bind(clocks)
        .fetch_all(&mut *connection)
        .await?;
    let counts: HashMap<i64, i64> = ids.into_iter().zip(counts).collect();
    let mut next: HashMap<i64, (i64, i64)> = raised
        .into_iter()
        .map(|(id, last, now)| (id, (last - counts.get(&id).copied().unwrap_or(0) + 1, now)))
        .collect();
    insert(statements, connection, messages, &mut next).await
}

async fn insert(
    statements: &Statements,
    connection: &mut PgConnection,
    messages: Vec<NewMessage>,
    next: &mut HashMap<i64, (i64, i64)>,
) -> Attempt<()> {
    let (mut ids, mut seqs, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bodies, mut keys, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for message in messages {
        let Some((seq, now)) = next.get_mut(&message.instance) else { continue };
        ids.push(message.instance);
        seqs.push(*seq);
        kinds.push(message.kind.code());
        bodies.push(message.body);
        keys.push(message.dedup_key);
        times.push(*now);
        *seq += 1;
    }
    query(statements.inbox_insert.clone())
        .bind(ids)
        .bind(seqs)
        .bind(kinds)
        .bind(bodies)
        .bind(keys)
        .bind(times)
        .execute(connection)
        .await?;
    Ok(())
}

async fn cancel(
    statements: &Statements,
    connection: &mut PgConnection,
    params: CancelRequest,
) -> Attempt<SendOutcome> {
    let status: Option<i16> = query_scalar(statements.inbox_status.clone())
        .bind(params.instance.0)
        .fetch_optional(&mut *connection)
        .await?;
    let Some(status) = status else {
        return Err(unknown_instance(params.instance).into());
    };
    if !decode::status(status)?.is_open() {
        return Ok(SendOutcome::Closed);
    }
    let dedup_key = params.request_id.0.as_bytes().to_vec();
    let first = query(statements.inbox_dedup.clone())
        .bind(params.instance.0)
        .bind(&dedup_key)
        .execute(&mut *connection)
        .await?;
    if first.rows_affected() == 0 {
        return Ok(SendOutcome::Duplicate);
    }
    let message = NewMessage {
        instance: params.instance.0,
        kind: MessageKind::CancelRequest,
        body: params.reason.into_bytes(),
        dedup_key: Some(dedup_key),
        now: params.now,
    };
    send(statements, connection, vec![message]).await?;
    Ok(SendOutcome::Accepted)
}

async fn read(
    statements: &Statements,
    connection: &mut PgConnection,
    params: InboxRead,
) -> Attempt<Vec<InboxMessage>> {
    let rows: Vec<(i64, i16, Vec<u8>)> = query_as(statements.inbox_read.clone())
        .bind(params.instance.0)
        .bind(params.after.0)
        .fetch_all(connection)
        .await?;
    rows.into_iter()
        .map(|(seq, kind, body)| {
            Ok(InboxMessage {
                seq: InboxSeq(seq),
                kind: decode::message_kind(kind)?,
                body: Bytes::from(body),
            })
        })
        .collect()
}
