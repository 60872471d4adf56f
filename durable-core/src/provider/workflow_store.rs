//! Runs: start, claim, commit.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::error::ProviderResult;
use super::inbox::InboxMessage;
use super::inspect::InstanceRef;
use super::status::Status;
use crate::history::EncodedBatch;
use crate::id::{
    ActivityRowId, BuildId, CommandId, Epoch, EventId, FlushId, IdSeed, InboxSeq, Incarnation, InstanceId,
    QueueName, RequestId, RunId, WorkflowId,
};
use crate::time::Timestamp;

/// What a start does when the workflow id is already known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IdPolicy {
    /// Open or closed, the existing instance's handle comes back and nothing runs.
    #[default]
    UseExisting,
    /// Open: use it. Closed: start a new instance.
    AllowAfterClose,
    /// Open or completed: use it. Closed in any other way: start a new instance.
    AllowAfterFailure,
    /// Open or closed: `AlreadyExists`.
    Reject,
}

/// Params of one start in [`WorkflowStore::workflow_start`].
#[derive(Debug, Clone)]
pub struct StartRun {
    /// The user's name for the work.
    pub workflow_id: WorkflowId,
    /// Registered name of the workflow.
    pub workflow_type: String,
    /// Digest of the arguments: an existing instance with another type or digest is `AlreadyExists`.
    pub input_digest: [u8; 32],
    /// Task queue.
    pub queue: QueueName,
    /// 0 (first) to 9.
    pub priority: u8,
    /// Id of the first run.
    pub run_id: RunId,
    /// The run's id seed.
    pub seed: IdSeed,
    /// A repeat with the same request id finds what the first one started, whatever the policy.
    pub request_id: RequestId,
    /// The encoded `WorkflowExecutionStarted`, event 1.
    pub history: EncodedBatch,
    /// What to do when the workflow id is known.
    pub policy: IdPolicy,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// Answer to one start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartOutcome {
    /// A new instance was made.
    Started(InstanceRef),
    /// An instance was there already and is used.
    Existing(InstanceRef),
}

/// Params of [`WorkflowStore::workflow_claim`].
#[derive(Debug, Clone)]
pub struct WorkflowClaim {
    /// Who claims.
    pub incarnation: Incarnation,
    /// One queue per statement.
    pub queue: QueueName,
    /// At most this many runs.
    pub limit: u32,
    /// How long the claim is trusted without renewal.
    pub lease: Duration,
    /// A run claimed this often without progress is dead-lettered instead.
    pub max_claims: u32,
    /// A run claimed this often without progress is a suspect: a claim takes it alone, or ends before it.
    pub isolate_at: u32,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// What a claim found.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The database's clock.
    pub now: Timestamp,
    /// The claimed runs, in order of (priority, eligible time, id).
    pub runs: Vec<ClaimedRun>,
    /// Instances that were dead-lettered instead.
    pub dead_lettered: Vec<InstanceId>,
}

/// One claimed run.
#[derive(Debug, Clone)]
pub struct ClaimedRun {
    /// The instance.
    pub instance: InstanceId,
    /// The user's name for it.
    pub workflow_id: WorkflowId,
    /// Registered name of the workflow.
    pub workflow_type: String,
    /// Its queue.
    pub queue: QueueName,
    /// The open run.
    pub run_id: RunId,
    /// The run's number in its instance, from 1.
    pub run_number: u32,
    /// The epoch that every write of this owner carries.
    pub epoch: Epoch,
    /// Id that the next event gets.
    pub next_event: EventId,
    /// The whole history, if it is one row of at most [`CLAIM_HISTORY_BYTES`](crate::limits::CLAIM_HISTORY_BYTES), as
    /// that of a run which had no turn yet; else `None`, and the owner reads it when it needs it. A provider may
    /// always answer `None`.
    pub history: Option<EncodedBatch>,
    /// Unread messages in order of their sequence number.
    pub inbox: Vec<InboxMessage>,
    /// Durable activity rows of the run.
    pub activity_rows: Vec<RowState>,
    /// Claims since the last committed turn, this one included.
    pub claims_without_progress: u32,
    /// The last owner's lease ran out or it died; its local activities may have run.
    pub owner_lost: bool,
    /// How often in a row the workflow task failed; 0 when not blocked.
    pub blocked_attempts: u32,
}

/// A durable activity row of a claimed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowState {
    /// The command that it carries out.
    pub command: CommandId,
    /// Its row.
    pub row: ActivityRowId,
}

/// Params of [`WorkflowStore::workflow_commit`]: commits of different runs, each all or nothing (G2).
#[derive(Debug, Clone)]
pub struct CommitBatch {
    /// Who commits.
    pub incarnation: Incarnation,
    /// One commit per run.
    pub commits: Vec<RunCommit>,
    /// Length of the lease that a commit which keeps the run renews.
    pub lease: Duration,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// One owner's commit of one run.
#[derive(Debug, Clone)]
pub struct RunCommit {
    /// The instance.
    pub instance: InstanceId,
    /// The run.
    pub run_id: RunId,
    /// Owner guard, with the batch's incarnation and status `executing`.
    pub epoch: Epoch,
    /// Owner guard: the id that the first new event must get.
    pub expected_next: EventId,
    /// Identity of this commit: a retry after a lost answer keeps it.
    pub flush: FlushId,
    /// New history rows, consecutive from `expected_next`; may be empty.
    pub history: Vec<EncodedBatch>,
    /// Messages up to this sequence number became history: they are removed.
    pub consumed_through: InboxSeq,
    /// Changes to durable activity rows.
    pub activities: Vec<ActivityChange>,
    /// Resets claims without progress: the commit holds a `WorkflowTaskCompleted`, or a worker that ends in order
    /// lets go of a run with no turn to make.
    pub progress: bool,
    /// Sets or clears the reason why the run is blocked.
    pub block: BlockChange,
    /// What becomes of the instance.
    pub disposition: Disposition,
}

/// Change of a run's blocked reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockChange {
    /// As it is.
    Keep,
    /// The workflow task failed: store the reason, count it. Burns no claim (`claims_without_progress`
    /// goes back by one).
    Set {
        /// Why, for people. May hold any text.
        reason: String,
        /// The build that failed; another build tries again at once.
        build: BuildId,
    },
    /// The task succeeded.
    Clear,
}

/// A change to a run's durable activity rows.
#[derive(Debug, Clone)]
pub enum ActivityChange {
    /// Makes a row.
    Insert(NewActivityRow),
    /// Removes the row of a command, if it is still there.
    Remove(CommandId),
}

/// A durable activity row to be made.
#[derive(Debug, Clone)]
pub struct NewActivityRow {
    /// The command that it carries out.
    pub command: CommandId,
    /// Registered name of the activity.
    pub activity_type: String,
    /// Task queue.
    pub queue: QueueName,
    /// 0 (first) to 9.
    pub priority: u8,
    /// The encoded task (`runtime`'s business): input, key, options.
    pub task: Bytes,
    /// Attempts already made.
    pub attempts: u32,
    /// Attempts lost with their process.
    pub lost: u32,
    /// Delay before it may be claimed.
    pub delay: Duration,
    /// Past this point it may be claimed by anyone, to be ended as timed out.
    pub deadline: Option<Timestamp>,
    /// The encoded failure of the last attempt.
    pub last_failure: Option<Bytes>,
}

/// What becomes of an instance after a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// The owner keeps it; the lease is renewed (never shortened).
    Keep,
    /// Released: waits until `wake_at`. Runnable instead if unread messages are there (G6).
    Wait {
        /// Next due timer.
        wake_at: Option<Timestamp>,
    },
    /// Released: runnable at once.
    Yield,
    /// Released as blocked; runnable again after the delay, or never without another build.
    Block {
        /// Delay before the next try.
        retry_after: Option<Duration>,
    },
    /// The run is over. Messages and activity rows of the instance are removed.
    Close {
        /// Completed, failed, canceled, …
        status: Status,
        /// The encoded outcome that clients read.
        outcome: Bytes,
    },
    /// The run is over and the instance goes on in a new one: runnable at once, with its epoch, its messages and
    /// their dedup keys. Activity rows of the run that ends are removed, those that the commit makes among them.
    Continue {
        /// The encoded outcome of the run that ends; its status is [`Status::ContinuedAsNew`].
        outcome: Bytes,
        /// The run that begins.
        next: NextRunStart,
    },
}

/// The run in which an instance goes on. Its number is the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextRunStart {
    /// Its id. A known one is `Conflict` for the whole batch.
    pub run_id: RunId,
    /// Its id seed.
    pub seed: IdSeed,
    /// Its first history rows, from event 1; at least one.
    pub history: Vec<EncodedBatch>,
}

/// Proof of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The database's clock.
    pub now: Timestamp,
    /// Id that the next event gets: of the run that begins, if the commit continues the instance.
    pub next_event: EventId,
    /// Highest sequence number given to a message of the instance.
    pub inbox_seq: InboxSeq,
    /// Status after the commit.
    pub status: Status,
}

/// Runs: start, claim, commit.
#[async_trait]
pub trait WorkflowStore: Send + Sync {
    /// Starts runs. One answer per params struct, in order; a refused one hurts no other.
    ///
    /// # Errors
    ///
    /// Per start: `AlreadyExists` naming both types (or saying that the arguments differ), `Invalid`.
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>>;

    /// Claims runnable runs of one queue in order of (priority, eligible time, id) (G1, G9). Raises the
    /// epoch, counts the claim (G8) and dead-letters what was claimed too often. A suspect is claimed alone:
    /// what waits beside it while it kills the process would count that claim as its own.
    async fn workflow_claim(&self, params: WorkflowClaim) -> ProviderResult<Claimed>;

    /// Commits turns. One answer per commit, in order; a stale one changes nothing and hurts no other (G2,
    /// G3). A commit whose `flush` is already the instance's last one has succeeded before and answers so.
    ///
    /// # Errors
    ///
    /// Per commit: `LeaseLost` when the owner guard does not hold. For the whole batch: the transaction
    /// failed and nothing was written (or, for `Unavailable`, the answer was lost).
    async fn workflow_commit(&self, batch: CommitBatch)
    -> ProviderResult<Vec<ProviderResult<CommitReceipt>>>;
}
