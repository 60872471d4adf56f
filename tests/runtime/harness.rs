//! One process on a backend, in a world of virtual time or on real threads; which backend, the test binary says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::history::Event;
use durable_core::id::RunId;
use durable_core::runtime::Durable;
use durable_core::time::{Clock, SystemClock};
use durable_testkit::{World, read_history};

use crate::backend;

/// Runs a test on one thread, in virtual time, step by step: the same execution each time.
pub(crate) fn in_world(body: impl AsyncFnOnce(World)) {
    in_this_world(World::new(), body);
}

pub(crate) fn in_this_world<T>(world: World, body: impl AsyncFnOnce(World) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(world.clone().drive(body(world)))
}

pub(crate) struct Fixture {
    pub(crate) durable: Durable,
    pub(crate) clock: Arc<dyn Clock>,
    /// On real threads, with the machine's clock.
    threads: bool,
    _files: Option<tempfile::TempDir>,
}

impl Fixture {
    pub(crate) async fn new(world: &World) -> Self {
        let (provider, files) = backend::open().await;
        let (durable, clock) = (world.process(provider), Arc::new(world.clock().clone()));
        Self { durable, clock, threads: false, _files: files }
    }

    /// For what is about threads: turns that do not end, and true concurrency.
    pub(crate) async fn threads() -> Self {
        let (provider, files) = backend::open().await;
        let clock = Arc::new(SystemClock::new());
        let durable = Durable::new(Arc::new(provider), Arc::<SystemClock>::clone(&clock));
        Self { durable, clock, threads: true, _files: files }
    }

    /// Waits until `done`, for at most ten minutes of virtual time; on threads it looks again and again.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, done: impl Fn() -> F) {
        let end = self.clock.elapsed() + Duration::from_mins(10);
        while !done().await {
            assert!(self.clock.elapsed() < end, "{what} did not happen");
            if self.threads {
                tokio::task::yield_now().await;
            } else {
                self.pause(Duration::from_millis(5)).await;
            }
        }
    }

    /// The whole history of a run.
    pub(crate) async fn history(&self, run: RunId) -> Vec<Event> {
        read_history(&**self.durable.provider(), run).await.unwrap()
    }

    pub(crate) async fn pause(&self, time: Duration) {
        self.clock.sleep_until(self.clock.elapsed() + time).await;
    }

    /// Fails when it takes over ten minutes of virtual time.
    pub(crate) async fn soon<T>(&self, what: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            value = what => value,
            () = self.pause(Duration::from_mins(10)) => panic!("took over ten minutes of virtual time"),
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
