//! Stored values as the contract's types, and JSON arrays as statement parameters.

use durable_core::id::{BuildId, EventId, IdSeed, QueueName, RunId, WorkflowId};
use durable_core::provider::{MessageKind, Status};
use uuid::Uuid;

use crate::error::{Attempt, corrupt};

/// A run id.
pub(crate) fn run_id(bytes: &[u8]) -> Attempt<RunId> {
    Uuid::from_slice(bytes)
        .map(RunId)
        .map_err(|error| corrupt(format_args!("a run id that is no UUID ({error})")))
}

/// A workflow id.
pub(crate) fn workflow_id(text: String) -> Attempt<WorkflowId> {
    WorkflowId::new(text).map_err(|error| corrupt(format_args!("a bad name ({error})")))
}

/// A queue.
pub(crate) fn queue(text: String) -> Attempt<QueueName> {
    QueueName::new(text).map_err(|error| corrupt(format_args!("a bad name ({error})")))
}

/// A status.
pub(crate) fn status(code: i64) -> Attempt<Status> {
    i16::try_from(code)
        .ok()
        .and_then(Status::from_code)
        .ok_or_else(|| corrupt(format_args!("status {code}, which this build does not know")))
}

/// The kind of a message.
pub(crate) fn message_kind(code: i64) -> Attempt<MessageKind> {
    i16::try_from(code)
        .ok()
        .and_then(MessageKind::from_code)
        .ok_or_else(|| corrupt(format_args!("a message of kind {code}, which this build does not know")))
}

/// An event id.
pub(crate) fn event_id(value: i64) -> Attempt<EventId> {
    unsigned(value).map(EventId)
}

/// A number that is never negative.
pub(crate) fn unsigned<N: TryFrom<i64>>(value: i64) -> Attempt<N> {
    N::try_from(value)
        .map_err(|_| corrupt(format_args!("the number {value} where a small natural one belongs")))
}

/// A number for storage; ids and counts never come near the limit.
pub(crate) fn stored(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Free text: any bytes that were written, shown as well as they can be.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A UUID for storage.
pub(crate) fn uuid_bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// A seed for storage.
pub(crate) fn seed_bytes(seed: IdSeed) -> Vec<u8> {
    uuid_bytes(seed.0)
}

/// A build for storage.
pub(crate) fn build_text(build: &BuildId) -> String {
    build.as_str().to_owned()
}

/// A JSON array for `json_each`.
pub(crate) fn json_array<T: Into<serde_json::Value>>(items: impl IntoIterator<Item = T>) -> String {
    serde_json::Value::Array(items.into_iter().map(Into::into).collect()).to_string()
}
