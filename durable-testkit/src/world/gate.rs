//! Lets the calls of providers through one at a time, in the order and with the fate that the driver says.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use tokio::sync::{Notify, oneshot};

/// One call of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Position among all calls of the world, from 1, in the order in which they were let through.
    pub number: u64,
    /// The process that makes it, from 0, in the order in which they were made.
    pub process: usize,
    /// The method of the role trait.
    pub name: &'static str,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Answer,
    /// It is carried out twice, as by a network that repeats a packet; the second answer counts.
    Duplicate,
    /// It fails with this kind and is not carried out.
    Error(ErrorKind),
    /// It is carried out, the caller gets `Unavailable`.
    LoseAnswer,
    /// The process dies before it is carried out.
    CrashBefore,
    /// The process dies after it was carried out, before the answer arrives.
    CrashAfter,
}

struct Waiting {
    process: usize,
    name: &'static str,
    admit: oneshot::Sender<(Fate, Passage)>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    passed: Vec<Call>,
    /// Processes whose calls are never let through again.
    dead: Vec<usize>,
    processes: usize,
}

/// The gate of one world. Clones are the same gate.
#[derive(Clone, Default)]
pub(super) struct Gate {
    state: Arc<Mutex<State>>,
    done: Arc<Notify>,
    crashed: Arc<Notify>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

/// Held while a call is carried out.
struct Passage(Arc<Notify>);

impl Drop for Passage {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn new_process(&self) -> usize {
        let mut state = self.state();
        state.processes += 1;
        state.processes - 1
    }

    /// Calls that wait.
    pub(super) fn waiting(&self) -> usize {
        let mut state = self.state();
        state.waiting.retain(|call| !call.admit.is_closed());
        state.waiting.len()
    }

    /// Calls that were let through, in order.
    pub(super) fn passed(&self) -> Vec<Call> {
        self.state().passed.clone()
    }

    /// Never lets a call of the process through again.
    pub(super) fn kill(&self, process: usize) {
        let mut state = self.state();
        state.dead.push(process);
        // Whoever waits for a permit that is gone waits for ever, like a process that is no more.
        state.waiting.retain(|call| call.process != process);
    }

    pub(super) fn dead(&self) -> Vec<usize> {
        self.state().dead.clone()
    }

    pub(super) fn crashed(&self) -> &Notify {
        &self.crashed
    }

    /// Lets the `n`-th waiting call through and returns when it was carried out.
    pub(super) async fn admit(&self, n: usize, fate: impl FnOnce(Call) -> Fate) {
        let (admit, fate) = {
            let mut state = self.state();
            let Some(waiting) = state.waiting.remove(n) else { return };
            let number = u64::try_from(state.passed.len()).unwrap_or(u64::MAX) + 1;
            let call = Call { number, process: waiting.process, name: waiting.name };
            state.passed.push(call);
            let fate = fate(call);
            if matches!(fate, Fate::CrashBefore | Fate::CrashAfter) {
                state.dead.push(call.process);
            }
            (waiting.admit, fate)
        };
        // Whoever called may have gone meanwhile: then its passage is dropped here.
        drop(admit.send((fate, Passage(Arc::clone(&self.done)))));
        self.done.notified().await;
        if matches!(fate, Fate::CrashBefore | Fate::CrashAfter) {
            self.crashed.notify_one();
        }
    }

    /// Waits at the gate, then carries the call out as its fate says.
    pub(super) async fn pass<T, F>(
        &self,
        process: usize,
        name: &'static str,
        call: impl Fn() -> F + Send,
    ) -> ProviderResult<T>
    where
        F: Future<Output = ProviderResult<T>> + Send,
        T: Send,
    {
        let (admit, admitted) = oneshot::channel();
        let dead = {
            let mut state = self.state();
            let dead = state.dead.contains(&process);
            if !dead {
                state.waiting.push_back(Waiting { process, name, admit });
            }
            dead
        };
        if dead {
            return std::future::pending().await;
        }
        let Ok((fate, passage)) = admitted.await else { return std::future::pending().await };
        let injected = |kind| Err(ProviderError::new(kind, format!("injected into `{name}`")));
        let answer = match fate {
            Fate::Answer | Fate::CrashAfter => call().await,
            Fate::Duplicate => {
                // What the first of the two was answered, nobody learns.
                drop(call().await);
                call().await
            }
            Fate::Error(kind) => injected(kind),
            Fate::LoseAnswer => {
                drop(call().await);
                injected(ErrorKind::Unavailable)
            }
            Fate::CrashBefore => injected(ErrorKind::Unavailable),
        };
        drop(passage);
        if matches!(fate, Fate::CrashBefore | Fate::CrashAfter) {
            return std::future::pending().await;
        }
        answer
    }
}
