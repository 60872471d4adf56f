//! Workers: slots, incarnations, and who is dead.

use async_trait::async_trait;

use super::error::ProviderResult;
use crate::id::{BuildId, Incarnation, SlotName};
use crate::time::Timestamp;

/// Params of [`Workers::worker_register`].
#[derive(Debug, Clone)]
pub struct WorkerRegistration {
    /// The slot; `None` takes the first of `worker-1`, `worker-2`, … that no living worker holds.
    pub slot: Option<SlotName>,
    /// This start.
    pub incarnation: Incarnation,
    /// This build. Runs blocked by another build become due at once.
    pub build: BuildId,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// Answer to a registration.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The slot that was taken.
    pub slot: SlotName,
    /// Claims of dead predecessors under the slot that were freed at once.
    pub freed: u64,
    /// The database's clock.
    pub now: Timestamp,
}

/// Workers.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Takes the slot's liveness lock, registers the incarnation and frees what predecessors under the
    /// same slot still hold (they are dead: the lock was free).
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when a living worker holds the named slot.
    async fn worker_register(&self, params: WorkerRegistration) -> ProviderResult<Registered>;

    /// Gives the slot and its liveness lock back. Claims that are still held stay under their lease.
    async fn worker_deregister(&self, incarnation: Incarnation) -> ProviderResult<()>;
}
