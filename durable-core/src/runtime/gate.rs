//! Isolation of suspects: work that may have killed its process runs while nothing else of this one does.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::time::Clock;

/// Longest wait for the gate: beyond it work goes on without isolation.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets any number of ordinary pieces of work in, or one suspect.
#[derive(Debug)]
pub(super) struct Gate {
    lock: Arc<RwLock<()>>,
    clock: Arc<dyn Clock>,
}

/// Held while the work runs.
#[derive(Debug)]
#[expect(dead_code, reason = "the guards are held, not read")]
pub(super) enum Pass {
    Shared(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
    /// Patience ran out.
    Impatient,
}

impl Gate {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { lock: Arc::default(), clock }
    }

    /// A pass for ordinary work if no suspect runs or waits.
    pub(super) fn try_enter(&self) -> Option<Pass> {
        Arc::clone(&self.lock).try_read_owned().ok().map(Pass::Shared)
    }

    /// Waits, within bounds, for a pass.
    pub(super) async fn enter(&self, suspect: bool) -> Pass {
        let lock = Arc::clone(&self.lock);
        let pass = async move {
            if suspect {
                Pass::Alone(lock.write_owned().await)
            } else {
                Pass::Shared(lock.read_owned().await)
            }
        };
        tokio::select! {
            biased;
            pass = pass => pass,
            () = self.clock.sleep_until(self.clock.elapsed().saturating_add(PATIENCE)) => {
                tracing::warn!(suspect, "waited {PATIENCE:?} for isolation; going on without it");
                Pass::Impatient
            }
        }
    }
}
