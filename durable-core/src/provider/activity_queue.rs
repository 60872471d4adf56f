//! Durable activity rows: claim, settle, try again.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::error::ProviderResult;
use crate::id::{ActivityRowId, CommandId, Epoch, Incarnation, InstanceId, QueueName, RunId, WorkflowId};
use crate::time::Timestamp;

/// Params of [`ActivityQueue::activity_claim`].
#[derive(Debug, Clone)]
pub struct ActivityClaim {
    /// Who claims.
    pub incarnation: Incarnation,
    /// One queue per statement.
    pub queue: QueueName,
    /// Types that the worker can run. Rows past their deadline are claimed whatever their type.
    pub types: Vec<String>,
    /// At most this many rows.
    pub limit: u32,
    /// How long the claim is trusted without renewal.
    pub lease: Duration,
    /// A row with so many lost attempts is a suspect: a claim takes it alone, or ends before it.
    pub isolate_at: u32,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// One claimed attempt.
#[derive(Debug, Clone)]
pub struct ClaimedActivity {
    /// The row.
    pub row: ActivityRowId,
    /// Owner guard: rises at each claim of the row.
    pub epoch: Epoch,
    /// The instance that waits for it.
    pub instance: InstanceId,
    /// The instance's workflow id.
    pub workflow_id: WorkflowId,
    /// The run.
    pub run_id: RunId,
    /// The command.
    pub command: CommandId,
    /// Registered name of the activity.
    pub activity_type: String,
    /// The encoded task as it was inserted.
    pub task: Bytes,
    /// Attempts made before this one, lost ones included.
    pub attempts: u32,
    /// Attempts lost with their process.
    pub lost: u32,
    /// The last attempt was lost and its back-off has not been waited for yet.
    pub backoff_due: bool,
    /// Past this point the activity has timed out as a whole.
    pub deadline: Option<Timestamp>,
    /// The encoded failure of the last attempt.
    pub last_failure: Option<Bytes>,
    /// The database's clock at the claim.
    pub now: Timestamp,
}

/// Params of one outcome in [`ActivityQueue::activity_settle`].
#[derive(Debug, Clone)]
pub struct ActivityOutcome {
    /// The row.
    pub row: ActivityRowId,
    /// Owner guard, with the incarnation.
    pub epoch: Epoch,
    /// Owner guard.
    pub incarnation: Incarnation,
    /// The encoded event that becomes a message for the instance.
    pub message: Bytes,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// Params of one retry in [`ActivityQueue::activity_retry`].
#[derive(Debug, Clone)]
pub struct ActivityRetry {
    /// The row.
    pub row: ActivityRowId,
    /// Owner guard, with the incarnation.
    pub epoch: Epoch,
    /// Owner guard.
    pub incarnation: Incarnation,
    /// Attempts made so far; the row stores it.
    pub attempts: u32,
    /// The encoded failure of the last attempt; `None` keeps what is stored.
    pub last_failure: Option<Bytes>,
    /// Delay before it may be claimed again.
    pub delay: Duration,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// Answer to a settled activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivitySettled {
    /// The instance that got the message.
    pub instance: InstanceId,
}

/// Durable activity rows.
#[async_trait]
pub trait ActivityQueue: Send + Sync {
    /// Claims eligible rows of one queue in order of (priority, eligible time, id) (G1, G9).
    async fn activity_claim(&self, params: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>>;

    /// Ends activities: each row is removed and its message is in the instance's inbox, atomically; a
    /// waiting instance becomes runnable (G6).
    ///
    /// # Errors
    ///
    /// Per outcome: `LeaseLost` when the guard does not hold or the row is gone (cancelled, superseded,
    /// run closed); nothing is changed.
    async fn activity_settle(
        &self,
        outcomes: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>>;

    /// Gives claimed rows back to be claimed again after their delay.
    ///
    /// # Errors
    ///
    /// Per retry: `LeaseLost` as above.
    async fn activity_retry(&self, retries: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>>;
}
