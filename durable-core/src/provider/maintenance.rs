//! Leases and sweeps: ordered, skipping, bounded, safe in every process at once.

use std::time::Duration;

use async_trait::async_trait;

use super::error::ProviderResult;
use crate::id::{ActivityRowId, Epoch, Incarnation, InstanceId, QueueName};
use crate::time::Timestamp;

/// Params of [`Maintenance::lease_renew`].
#[derive(Debug, Clone)]
pub struct LeaseRenewal {
    /// Who renews.
    pub incarnation: Incarnation,
    /// Owned instances with their epochs.
    pub instances: Vec<(InstanceId, Epoch)>,
    /// Claimed activity rows with their epochs.
    pub activities: Vec<(ActivityRowId, Epoch)>,
    /// New length, from the database's clock; expiry never decreases.
    pub lease: Duration,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// What a renewal found.
#[derive(Debug, Clone)]
pub struct LeaseState {
    /// The database's clock.
    pub now: Timestamp,
    /// Instances that are no longer owned. An expired lease is never revived.
    pub lost_instances: Vec<InstanceId>,
    /// Activity rows that are no longer held.
    pub lost_activities: Vec<ActivityRowId>,
}

/// Params of [`Maintenance::poll`].
#[derive(Debug, Clone)]
pub struct PollParams {
    /// Who asks.
    pub incarnation: Incarnation,
    /// The queues that it serves.
    pub queues: Vec<QueueName>,
    /// Activity types that it can run.
    pub activity_types: Vec<String>,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// What there is to do; read without a write.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "five independent answers, not a state")]
pub struct PollHint {
    /// The database's clock.
    pub now: Timestamp,
    /// Runnable runs are there.
    pub runnable: bool,
    /// Waiting or blocked runs are due.
    pub due: bool,
    /// Leases have expired.
    pub expired: bool,
    /// Eligible activity rows are there.
    pub activities: bool,
    /// Owned instances have unread messages.
    pub inbox: bool,
    /// The next time at which something becomes due: a timer, a blocked run, a retry.
    pub next_due: Option<Timestamp>,
}

/// Params of the sweeps.
#[derive(Debug, Clone, Copy)]
pub struct SweepParams {
    /// At most this many rows.
    pub limit: u32,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// What a sweep changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Instances.
    pub instances: u64,
    /// Activity rows.
    pub activities: u64,
}

/// Leases and sweeps.
#[async_trait]
pub trait Maintenance: Send + Sync {
    /// Renews leases in one batch (G7).
    async fn lease_renew(&self, params: LeaseRenewal) -> ProviderResult<LeaseState>;

    /// Frees what holds an expired lease: instances become runnable with `owner_lost`, activity rows
    /// count a lost attempt and owe their back-off (G8).
    async fn lease_reap(&self, params: SweepParams) -> ProviderResult<SweepReport>;

    /// Makes due waiting and blocked instances runnable, eligible since their due time.
    async fn due_sweep(&self, params: SweepParams) -> ProviderResult<SweepReport>;

    /// Tells what there is to do, in one read.
    async fn poll(&self, params: PollParams) -> ProviderResult<PollHint>;
}
