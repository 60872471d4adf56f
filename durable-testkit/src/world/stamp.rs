//! The world's clock is the database's: it is read when a call is carried out, not when it is made.

use durable_core::id::Incarnation;
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityRetry, CancelRequest, CommitBatch, InboxRead, LeaseRenewal,
    PollParams, StartRun, SweepParams, WorkerRegistration, WorkflowClaim,
};
use durable_core::time::Timestamp;

/// Parameters that may carry the database's clock.
pub(super) trait Stamp: Clone {
    /// The same parameters at that time.
    fn at(&self, now: Timestamp) -> Self;
}

macro_rules! stamped {
    ($($params:ty),*) => {
        $(
            impl Stamp for $params {
                fn at(&self, now: Timestamp) -> Self {
                    Self { now: Some(now), ..self.clone() }
                }
            }
        )*
    };
}

stamped!(
    ActivityClaim,
    ActivityOutcome,
    ActivityRetry,
    CancelRequest,
    CommitBatch,
    LeaseRenewal,
    PollParams,
    StartRun,
    SweepParams,
    WorkerRegistration,
    WorkflowClaim
);

impl Stamp for InboxRead {
    fn at(&self, _now: Timestamp) -> Self {
        *self
    }
}

impl Stamp for Incarnation {
    fn at(&self, _now: Timestamp) -> Self {
        *self
    }
}

impl<T: Stamp> Stamp for Vec<T> {
    fn at(&self, now: Timestamp) -> Self {
        self.iter().map(|params| params.at(now)).collect()
    }
}
