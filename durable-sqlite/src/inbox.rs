//! The inbox: messages for an instance that are not yet history.

use async_trait::async_trait;
use bytes::Bytes;
use durable_core::id::{InboxSeq, Incarnation, InstanceId};
use durable_core::provider::check::unknown_instance;
use durable_core::provider::{
    CancelRequest, Inbox, InboxMessage, InboxRead, MessageKind, ProviderResult, SendOutcome,
};
use durable_core::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_as, query_scalar};

use crate::connection::WriteTransaction;
use crate::decode::{self, uuid_bytes};
use crate::error::Attempt;
use crate::provider::SqliteProvider;
use crate::sql;

#[async_trait]
impl Inbox for SqliteProvider {
    async fn cancel_request(&self, params: CancelRequest) -> ProviderResult<SendOutcome> {
        let mut transaction = self.connections().begin(params.now).await?;
        let result = cancel(&mut transaction, params).await;
        self.connections().finish(transaction, result).await
    }

    async fn inbox_read(&self, params: InboxRead) -> ProviderResult<Vec<InboxMessage>> {
        let mut lent = self.connections().lend_reader().await?;
        let result = read(&mut lent.connection, params).await;
        self.connections().end_read(lent, result)
    }

    async fn inbox_pending(&self, incarnation: Incarnation) -> ProviderResult<Vec<InstanceId>> {
        let mut lent = self.connections().lend_reader().await?;
        let result: Attempt<Vec<i64>> = query_scalar(sql!("inbox_pending"))
            .bind(uuid_bytes(incarnation.0))
            .fetch_all(&mut lent.connection)
            .await
            .map_err(Into::into);
        let ids = self.connections().end_read(lent, result)?;
        Ok(ids.into_iter().map(InstanceId).collect())
    }
}

/// A message to be sent.
pub(crate) struct NewMessage {
    pub(crate) instance: InstanceId,
    pub(crate) kind: MessageKind,
    pub(crate) body: Vec<u8>,
    pub(crate) dedup_key: Option<Vec<u8>>,
    pub(crate) now: Timestamp,
}

/// Puts a message into an open instance's inbox and wakes the instance (G6); `false` if it is not open.
pub(crate) async fn send(connection: &mut SqliteConnection, message: NewMessage) -> Attempt<bool> {
    let seq: Option<i64> = query_scalar(sql!("inbox_raise"))
        .bind(message.instance.0)
        .bind(message.now.as_micros())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(seq) = seq else { return Ok(false) };
    query(sql!("inbox_insert"))
        .bind(message.instance.0)
        .bind(seq)
        .bind(i64::from(message.kind.code()))
        .bind(message.body)
        .bind(message.dedup_key)
        .bind(message.now.as_micros())
        .execute(connection)
        .await?;
    Ok(true)
}

async fn cancel(transaction: &mut WriteTransaction, params: CancelRequest) -> Attempt<SendOutcome> {
    let now = transaction.now;
    let connection = transaction.connection();
    let status: Option<i64> =
        query_scalar(sql!("inbox_status")).bind(params.instance.0).fetch_optional(&mut *connection).await?;
    let Some(status) = status else {
        return Err(unknown_instance(params.instance).into());
    };
    if !decode::status(status)?.is_open() {
        return Ok(SendOutcome::Closed);
    }
    let dedup_key = uuid_bytes(params.request_id.0);
    let first = query(sql!("inbox_dedup"))
        .bind(params.instance.0)
        .bind(dedup_key.clone())
        .execute(&mut *connection)
        .await?;
    if first.rows_affected() == 0 {
        return Ok(SendOutcome::Duplicate);
    }
    let message = NewMessage {
        instance: params.instance,
        kind: MessageKind::CancelRequest,
        body: params.reason.into_bytes(),
        dedup_key: Some(dedup_key),
        now,
    };
    Ok(if send(connection, message).await? { SendOutcome::Accepted } else { SendOutcome::Closed })
}

async fn read(connection: &mut SqliteConnection, params: InboxRead) -> Attempt<Vec<InboxMessage>> {
    let rows: Vec<(i64, i64, Vec<u8>)> = query_as(sql!("inbox_read"))
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
