//! The contract of a storage backend: role traits, one params struct per call, batches everywhere.
//!
//! A provider stores and compares; it does not interpret workflow semantics. What every provider
//! promises is numbered in `docs/guarantees.md` (G1 to G15); the in-memory provider of
//! `durable-testkit` is the contract as running code.
//!
//! Every params struct carries `now`: `None` means the database's own clock, read after locks are held
//! (G7); tests pass a virtual one. Durations become due times by that clock.

mod activity_queue;
pub mod check;
mod error;
mod inbox;
mod inspect;
mod maintenance;
mod schema;
mod status;
mod workers;
mod workflow_store;

pub use self::activity_queue::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, ClaimedActivity,
};
pub use self::error::{ErrorKind, ProviderError, ProviderResult};
pub use self::inbox::{CancelRequest, Inbox, InboxMessage, InboxRead, MessageKind, SendOutcome};
pub use self::inspect::{
    BlockedView, HistoryPage, HistoryRead, Inspect, InstanceRef, InstanceView, OpenInstances,
};
pub use self::maintenance::{
    LeaseRenewal, LeaseState, Maintenance, PollHint, PollParams, SweepParams, SweepReport,
};
pub use self::schema::Schema;
pub use self::status::Status;
pub use self::workers::{Registered, WorkerRegistration, Workers};
pub use self::workflow_store::{
    ActivityChange, BlockChange, Claimed, ClaimedRun, CommitBatch, CommitReceipt, Disposition, IdPolicy,
    NewActivityRow, NextRunStart, RowState, RunCommit, StartOutcome, StartRun, WorkflowClaim, WorkflowStore,
};

/// A storage backend: all roles together.
pub trait Provider:
    WorkflowStore + ActivityQueue + Inbox + Maintenance + Inspect + Workers + Schema + std::fmt::Debug
{
}

impl<P> Provider for P where
    P: WorkflowStore + ActivityQueue + Inbox + Maintenance + Inspect + Workers + Schema + std::fmt::Debug
{
}
