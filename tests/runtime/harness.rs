//! A backend and handles on it; which backend, the test binary says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::runtime::Durable;
use durable_core::time::{Clock, SystemClock};

use crate::backend::{self, Backend};

pub(crate) struct Fixture {
    pub(crate) durable: Durable,
    pub(crate) clock: Arc<SystemClock>,
    _files: Option<tempfile::TempDir>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::on(|provider| provider).await
    }

    pub(crate) async fn on<P: Provider + 'static>(wrap: impl FnOnce(Backend) -> P) -> Self {
        let (provider, files) = backend::open().await;
        let clock = Arc::new(SystemClock::new());
        let durable = Durable::new(Arc::new(wrap(provider)), Arc::<SystemClock>::clone(&clock));
        Self { durable, clock, _files: files }
    }

    /// Waits until `done`, for at most 20 s.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, done: impl Fn() -> F) {
        let end = self.clock.elapsed() + Duration::from_secs(20);
        while !done().await {
            assert!(self.clock.elapsed() < end, "{what} did not happen");
            self.clock.sleep_until(self.clock.elapsed() + Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn pause(&self, time: Duration) {
        self.clock.sleep_until(self.clock.elapsed() + time).await;
    }

    /// Fails instead of hanging.
    pub(crate) async fn soon<T>(&self, what: impl Future<Output = T>) -> T {
        tokio::select! {
            value = what => value,
            () = self.clock.sleep_until(self.clock.elapsed() + Duration::from_secs(20)) => panic!("took over 20 s"),
        }
    }
}

/// Worker state that counts calls.
#[derive(Debug, Default, Clone)]
pub(crate) struct Calls(pub(crate) Arc<AtomicU32>);

impl Calls {
    pub(crate) fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}
