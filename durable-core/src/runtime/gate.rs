//! Isolation of suspects: work that may have killed its process runs while nothing else of this one does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::time::Clock;

/// Longest wait for the gate: beyond it work goes on without isolation.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets any number of ordinary pieces of work in, or one suspect.
#[derive(Debug)]
pub(super) struct Gate {
    lock: Arc<RwLock<()>>,
    clock: Arc<dyn Clock>,
    suspects: Arc<Mutex<Suspects>>,
    /// Told when a suspect is gone.
    poll_now: Arc<Notify>,
}

/// The suspects that this worker holds.
#[derive(Debug, Default)]
struct Suspects {
    held: usize,
    /// When the last one came.
    since: Duration,
}

/// Held from the claim of a suspect until it has made progress or is gone.
#[derive(Debug)]
pub(super) struct Suspicion {
    suspects: Arc<Mutex<Suspects>>,
    poll_now: Arc<Notify>,
}

impl Drop for Suspicion {
    fn drop(&mut self) {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner).held -= 1;
        self.poll_now.notify_one();
    }
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
    pub(super) fn new(clock: Arc<dyn Clock>, poll_now: Arc<Notify>) -> Self {
        Self { lock: Arc::default(), clock, suspects: Arc::default(), poll_now }
    }

    /// A suspect was claimed.
    pub(super) fn suspect(&self) -> Suspicion {
        let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
        suspects.held += 1;
        suspects.since = self.clock.elapsed();
        Suspicion { suspects: Arc::clone(&self.suspects), poll_now: Arc::clone(&self.poll_now) }
    }

    /// Whether nothing should be claimed: what is held when a suspect kills the process counts the loss as its
    /// own, even if it only waited. A suspect that takes long is waited for within the same bounds as by work
    /// that is already here: once to get in, once while it runs.
    pub(super) fn is_isolating(&self) -> bool {
        let suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
        suspects.held > 0 && self.clock.elapsed().saturating_sub(suspects.since) < PATIENCE * 2
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
