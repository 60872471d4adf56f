//! A provider that wraps another one and goes wrong where a plan says so.
//!
//! Every call has a number (from 1, over all calls) and a count of its name (from 1). A [`Plan`] names the calls
//! at which something happens, or draws them from a seed; [`FaultProvider::calls`] lists what was called, so that
//! a crash explorer can run something once, count, and then crash it at each call; [`FaultProvider::injected`]
//! lists what was done.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use durable_core::provider::{ErrorKind, Schema};
//! use durable_testkit::fault::{Fault, FaultProvider, Plan};
//! use durable_testkit::MemoryProvider;
//!
//! // The second question for the time has its answer lost; the third call of all finds the database busy.
//! let plan = Plan::at_call("clock", 2, Fault::LoseAnswer).and(Plan::at(3, Fault::Error(ErrorKind::Busy)));
//! let provider = FaultProvider::new(MemoryProvider::new(), plan);
//! assert!(provider.clock().await.is_ok());
//! assert_eq!(provider.clock().await.unwrap_err().kind(), ErrorKind::Unavailable);
//! assert_eq!(provider.migrate().await.unwrap_err().kind(), ErrorKind::Busy);
//! assert!(provider.migrate().await.is_ok());
//!
//! assert_eq!(provider.calls(), ["clock", "clock", "migrate", "migrate"]);
//! let injected: Vec<_> = provider.injected().iter().map(ToString::to_string).collect();
//! assert_eq!(injected, ["call 2, clock 2: lost answer", "call 3, migrate 1: error Busy before the call"]);
//! # }
//! ```
//!
//! It knows nothing of time: a delay is a [`Gate`] of the caller's. And it is deterministic: the same calls in the
//! same order meet the same faults.

mod gate;
mod plan;
mod roles;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::provider::{ErrorKind, Provider, ProviderError, ProviderResult};
use tokio::sync::watch;

pub use self::gate::{Gate, GateKeeper};
pub use self::plan::{Fault, FaultKind, Injected, Plan, Rates};

/// What an inner call returns.
type Answer<'a, T> = Pin<Box<dyn Future<Output = ProviderResult<T>> + Send + 'a>>;

/// Called at an injected crash.
type CrashHook = Arc<dyn Fn(&Injected) + Send + Sync>;

/// A provider around `P` that injects faults. Clones share the plan, the counts and the log.
///
/// A crash is final: the call that met it never returns, nor does any other call, those under way included. What
/// they had already asked of the inner provider still takes effect there, as with a real process that dies. To
/// recover, wrap the same inner provider anew ([`FaultProvider::around`]).
pub struct FaultProvider<P: ?Sized> {
    inner: Arc<P>,
    shared: Arc<Shared>,
}

struct Shared {
    plan: Plan,
    log: Mutex<Log>,
    crashed: watch::Sender<bool>,
    on_crash: Option<CrashHook>,
}

#[derive(Debug, Default)]
struct Log {
    calls: Vec<&'static str>,
    counts: HashMap<&'static str, usize>,
    injected: Vec<Injected>,
}

impl<P> FaultProvider<P> {
    /// Wraps a provider.
    pub fn new(inner: P, plan: Plan) -> Self {
        Self::around(Arc::new(inner), plan)
    }
}

impl<P: ?Sized> FaultProvider<P> {
    /// Wraps a provider that others use too.
    pub fn around(inner: Arc<P>, plan: Plan) -> Self {
        Self::build(inner, plan, None)
    }

    /// As [`FaultProvider::around`], with what happens at an injected crash: the place to drop a worker, or to
    /// tell the test.
    pub fn crashing(inner: Arc<P>, plan: Plan, hook: impl Fn(&Injected) + Send + Sync + 'static) -> Self {
        Self::build(inner, plan, Some(Arc::new(hook)))
    }

    fn build(inner: Arc<P>, plan: Plan, on_crash: Option<CrashHook>) -> Self {
        let shared = Shared { plan, log: Mutex::default(), crashed: watch::Sender::new(false), on_crash };
        Self { inner, shared: Arc::new(shared) }
    }

    /// The provider inside.
    pub fn inner(&self) -> &Arc<P> {
        &self.inner
    }

    /// The names of all calls so far, in order; the first has number 1.
    pub fn calls(&self) -> Vec<&'static str> {
        self.log().calls.clone()
    }

    /// What was injected so far, in order.
    pub fn injected(&self) -> Vec<Injected> {
        self.log().injected.clone()
    }

    /// Whether a crash was injected.
    pub fn has_crashed(&self) -> bool {
        *self.shared.crashed.borrow()
    }

    /// Returns once a crash was injected.
    pub async fn crashed(&self) {
        // The sender lives as long as `self`: waiting cannot fail.
        let _ = self.shared.crashed.subscribe().wait_for(|&crashed| crashed).await;
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and decides what happens to it.
    fn record(&self, name: &'static str) -> Option<(Injected, Fault)> {
        let mut log = self.log();
        log.calls.push(name);
        let call = log.calls.len();
        let count = log.counts.entry(name).or_insert(0);
        *count += 1;
        let nth = *count;
        let fault = self.shared.plan.fault(call, name, nth)?;
        let injected = Injected { call, name, nth, fault: fault.kind() };
        log.injected.push(injected);
        Some((injected, fault))
    }
}

impl<P: Provider + ?Sized> FaultProvider<P> {
    /// One call: counted, wronged by plan, and never answered once the process is dead.
    async fn through<'a, T>(
        &'a self,
        name: &'static str,
        call: impl Fn(&'a P) -> Answer<'a, T> + Send,
    ) -> ProviderResult<T>
    where
        T: Send,
    {
        if self.has_crashed() {
            return pending().await;
        }
        let answer = match self.record(name) {
            None => call(&self.inner).await,
            Some((injected, fault)) => self.wronged(injected, fault, call).await,
        };
        // A crash elsewhere meanwhile: the process that waits for this answer is dead.
        if self.has_crashed() { pending().await } else { answer }
    }

    async fn wronged<'a, T: Send>(
        &'a self,
        injected: Injected,
        fault: Fault,
        call: impl Fn(&'a P) -> Answer<'a, T> + Send,
    ) -> ProviderResult<T> {
        match fault {
            Fault::Error(kind) => Err(ProviderError::new(kind, format!("injected at {injected}"))),
            Fault::LoseAnswer => {
                drop(call(&self.inner).await);
                Err(ProviderError::new(ErrorKind::Unavailable, format!("injected at {injected}")))
            }
            Fault::Duplicate => {
                drop(call(&self.inner).await);
                call(&self.inner).await
            }
            Fault::Delay(gate) => {
                gate.pass().await;
                // A process that died at the gate asks for nothing more.
                if self.has_crashed() { pending().await } else { call(&self.inner).await }
            }
            Fault::CrashBefore => self.crash(injected).await,
            Fault::CrashAfter => {
                drop(call(&self.inner).await);
                self.crash(injected).await
            }
        }
    }

    async fn crash<T>(&self, injected: Injected) -> T {
        self.shared.crashed.send_replace(true);
        if let Some(hook) = &self.shared.on_crash {
            hook(&injected);
        }
        pending().await
    }
}

impl<P: ?Sized> Clone for FaultProvider<P> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), shared: Arc::clone(&self.shared) }
    }
}

impl<P: fmt::Debug + ?Sized> fmt::Debug for FaultProvider<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProvider")
            .field("inner", &self.inner)
            .field("plan", &self.shared.plan)
            .field("calls", &self.log().calls.len())
            .field("injected", &self.injected())
            .finish_non_exhaustive()
    }
}
