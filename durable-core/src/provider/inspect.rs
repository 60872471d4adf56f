//! Reads: instances and histories, as last acknowledged (G12).

use async_trait::async_trait;
use bytes::Bytes;

use super::error::ProviderResult;
use super::status::Status;
use crate::history::EncodedBatch;
use crate::id::{EventId, InstanceId, RunId, WorkflowId};
use crate::time::Timestamp;

/// An instance and its open (or last) run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceRef {
    /// The instance.
    pub instance: InstanceId,
    /// Its open or last run.
    pub run_id: RunId,
}

/// What is known of an instance.
#[derive(Debug, Clone)]
pub struct InstanceView {
    /// The instance.
    pub instance: InstanceId,
    /// The user's name for it.
    pub workflow_id: WorkflowId,
    /// Registered name of the workflow.
    pub workflow_type: String,
    /// Its open or last run.
    pub run_id: RunId,
    /// That run's number, from 1.
    pub run_number: u32,
    /// The stored status.
    pub status: Status,
    /// Why its task fails, while it does.
    pub blocked: Option<BlockedView>,
    /// Why it was dead-lettered.
    pub dead_letter_reason: Option<String>,
    /// Events in the run's history.
    pub events: u64,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// The encoded outcome, once closed.
    pub outcome: Option<Bytes>,
}

/// Why a run is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedView {
    /// The reason, for people.
    pub reason: String,
    /// How often in a row the task failed.
    pub attempts: u32,
    /// When it is tried again; `None` while it waits for another build.
    pub retry_at: Option<Timestamp>,
}

/// Params of [`Inspect::instances_open`].
#[derive(Debug, Clone)]
pub struct OpenInstances {
    /// Those after this workflow id; from the first if there is none.
    pub after: Option<WorkflowId>,
    /// At most this many.
    pub limit: u32,
}

/// Params of [`Inspect::history_read`].
#[derive(Debug, Clone, Copy)]
pub struct HistoryRead {
    /// The run.
    pub run_id: RunId,
    /// The first event wanted; must be the first of a row.
    pub from: EventId,
    /// Stop after about this many bytes; at least one row comes.
    pub max_bytes: usize,
}

/// One page of a history.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    /// Rows in order.
    pub rows: Vec<EncodedBatch>,
    /// Where the next page begins, if there is one.
    pub next: Option<EventId>,
}

/// Reads.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// The instance of a workflow id: the open one, else the one that closed last.
    async fn instance_find(&self, workflow_id: &WorkflowId) -> ProviderResult<Option<InstanceView>>;

    /// One instance.
    async fn instance_view(&self, instance: InstanceId) -> ProviderResult<Option<InstanceView>>;

    /// Open instances in order of the bytes of their workflow ids: a page. An instance that is open all the time that
    /// somebody pages through them is found once.
    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>>;

    /// A page of a run's history.
    ///
    /// # Errors
    ///
    /// `Corrupt` when rows are missing or overlap.
    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage>;
}
