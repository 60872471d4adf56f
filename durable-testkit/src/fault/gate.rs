//! What a delayed call waits for: something of the caller's, never a clock of its own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a delayed call waits for before it is made. Clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    wait: Arc<dyn Fn() -> Wait + Send + Sync>,
}

impl Gate {
    /// Each call waits for a future of its own, for example a sleep on a virtual clock.
    pub fn new<F>(wait: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self { wait: Arc::new(move || Box::pin(wait())) }
    }

    /// Each call lets the other tasks go first, `times` times: whatever does not wait for it overtakes it.
    pub fn yielding(times: u32) -> Self {
        Self::new(move || async move {
            for _ in 0..times {
                tokio::task::yield_now().await;
            }
        })
    }

    /// A closed gate, and who opens it.
    pub fn closed() -> (Self, GateKeeper) {
        let keeper = GateKeeper { state: Arc::new(watch::Sender::new(State::default())) };
        let state = Arc::clone(&keeper.state);
        let gate = Self::new(move || {
            let state = Arc::clone(&state);
            async move {
                state.send_modify(|state| state.arrived += 1);
                // The sender is right here: waiting cannot fail.
                let _ = state.subscribe().wait_for(|state| state.open).await;
            }
        });
        (gate, keeper)
    }

    pub(super) fn pass(&self) -> Wait {
        (self.wait)()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    arrived: usize,
    open: bool,
}

/// Opens a gate and sees who waits at it.
#[derive(Debug, Clone)]
pub struct GateKeeper {
    state: Arc<watch::Sender<State>>,
}

impl GateKeeper {
    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Returns once `count` calls in all have come to the gate.
    pub async fn arrived(&self, count: usize) {
        // The sender is right here: waiting cannot fail.
        let _ = self.state.subscribe().wait_for(|state| state.arrived >= count).await;
    }
}
