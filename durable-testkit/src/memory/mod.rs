//! The provider contract as running code, in memory: data lives as long as one clone of the provider.
//!
//! It is written to be read: plain maps under one lock, every rule spelled out once. Tests restart workers
//! on it, and hold the real backends against it.

mod activity_queue;
mod inbox;
mod inspect;
mod maintenance;
mod schema;
mod state;
mod workers;
mod workflow_commit;
mod workflow_store;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::id::Incarnation;
use durable_core::time::Timestamp;

use self::state::State;

/// A provider that forgets everything when its last clone is dropped. For tests only.
#[derive(Debug, Clone, Default)]
pub struct MemoryProvider {
    state: Arc<Mutex<State>>,
}

impl MemoryProvider {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets an incarnation's liveness lock go, as the operating system does when a process dies. Its claims
    /// stay until their lease runs out or a successor registers under the same slot.
    pub fn kill(&self, incarnation: Incarnation) {
        if let Some(worker) = self.state().workers.get_mut(&incarnation) {
            worker.alive = false;
        }
    }

    /// Lets the liveness locks of every incarnation go, as when the machine restarts.
    pub fn kill_all(&self) {
        self.state().workers.values_mut().for_each(|worker| worker.alive = false);
    }

    /// Everything that is stored, as text: two equal dumps mean that nothing changed.
    pub fn dump(&self) -> String {
        format!("{:#?}", self.state())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panics while it holds the lock has failed anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The test clock, or the machine's.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the in-memory database")]
fn database_now(now: Option<Timestamp>) -> Timestamp {
    now.unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).plus(since)
    })
}
