//! The handle from which clients and workers are made.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::ids::Ids;
use super::inline::{InlineHost, InlineLine};
use super::notify::Wakeups;
use super::tasks::Tasks;
use super::worker::WorkerBuilder;
use crate::client::{Client, StartLane};
use crate::provider::{Provider, ProviderResult};
use crate::time::{Clock, Timestamp};

/// The database's time is read again after this long.
const TIME_KEPT: Duration = Duration::from_secs(30);

/// One storage backend and one clock. Clones share them, and wake each other up.
#[derive(Debug, Clone)]
pub struct Durable {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) starts: StartLane,
    pub(crate) ids: Arc<Ids>,
    pub(crate) tasks: Tasks,
    /// Deterministic mode: where its workers announce themselves.
    pub(crate) inline: Option<mpsc::Sender<InlineLine>>,
    /// The database's clock and ours when it was read.
    time: Mutex<Option<(Timestamp, Duration)>>,
    /// Held by the one who reads it.
    reading_time: tokio::sync::Mutex<()>,
}

impl Durable {
    /// A handle on a provider whose schema is in place.
    pub fn new(provider: Arc<dyn Provider>, clock: Arc<dyn Clock>) -> Self {
        Self::made(provider, clock, Ids::random(), Tasks::default(), None)
    }

    /// A handle in deterministic mode: the workers made from it run no threads of their own. Turns run when
    /// the host is told to, ids come from `seed`, and a flush holds one commit. The same calls in the same
    /// order then mean the same execution, if the executor has one thread, the clock is virtual, and the
    /// order in which the provider answers is given. `durable_testkit::World` sees to all of that.
    pub fn deterministic(
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        seed: u64,
    ) -> (Self, InlineHost) {
        let (lines, started) = mpsc::channel();
        let tasks = Tasks::counted();
        let host = InlineHost::new(started, tasks.clone());
        (Self::made(provider, clock, Ids::seeded(seed), tasks, Some(lines)), host)
    }

    fn made(
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        ids: Ids,
        tasks: Tasks,
        inline: Option<mpsc::Sender<InlineLine>>,
    ) -> Self {
        let (wakeups, starts) = (Arc::default(), StartLane::default());
        let (ids, time, reading_time) = (Arc::new(ids), Mutex::default(), tokio::sync::Mutex::default());
        let inner = Inner { provider, clock, wakeups, starts, ids, tasks, inline, time, reading_time };
        Self { inner: Arc::new(inner) }
    }

    /// A client: starts runs, waits for results.
    pub fn client(&self) -> Client {
        Client::new(Arc::clone(&self.inner))
    }

    /// A worker to be built: runs workflows and activities.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(Arc::clone(&self.inner))
    }

    /// The storage backend.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.inner.provider
    }
}

impl Inner {
    /// The database's clock, as far as it is known here.
    pub(crate) async fn database_now(&self) -> ProviderResult<Timestamp> {
        if let Some(now) = self.clock.database_override() {
            return Ok(now);
        }
        if let Some(now) = self.known_time() {
            return Ok(now);
        }
        // Read once, however many ask at the same moment.
        let _reading = self.reading_time.lock().await;
        if let Some(now) = self.known_time() {
            return Ok(now);
        }
        let now = self.provider.clock().await?;
        *self.time.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, self.clock.elapsed()));
        Ok(now)
    }

    /// The database's clock, unless it was read too long ago.
    fn known_time(&self) -> Option<Timestamp> {
        let (now, at) = (*self.time.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = self.clock.elapsed().saturating_sub(at);
        (passed < TIME_KEPT).then(|| now.plus(passed))
    }

    pub(crate) async fn sleep(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.elapsed().saturating_add(duration)).await;
    }
}
