//! Workers: built, started, shut down.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, OnceCell};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::message::Message;
use super::ownership_claim::tell;
use super::registry::{DuplicateName, Registry};
use super::rows::Rows;
use super::shared::Shared;
use super::start::{StartError, start};
use crate::activity::{Activity, ActivityEntry, StateMap};
use crate::id::{BuildId, Incarnation, InvalidName, QueueName, SlotName};
use crate::limits::{HistoryLimits, LEASE_DEFAULT, TURN_LIMIT_DEFAULT};
use crate::workflow::{Workflow, entry_of};

/// How long running attempts may take to end after a shutdown began, by default.
const GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// How long the last commits may take after that.
const LAST_COMMITS: Duration = Duration::from_secs(5);

/// What a worker is started with.
pub(super) struct Options {
    pub(super) durable: Arc<Inner>,
    pub(super) registry: Registry,
    pub(super) state: StateMap,
    pub(super) slot: Option<SlotName>,
    pub(super) build: Option<BuildId>,
    pub(super) queue: QueueName,
    pub(super) max_activities: usize,
    pub(super) max_runs: usize,
    pub(super) limits: HistoryLimits,
    pub(super) threads: usize,
    pub(super) cache: usize,
    pub(super) lease: Duration,
    pub(super) turn_limit: Duration,
}

/// Builds a [`Worker`]; whatever is wrong is told by [`WorkerBuilder::start`].
#[must_use = "a worker runs nothing until it is started"]
pub struct WorkerBuilder {
    options: Options,
    grace: Duration,
    refused: Option<StartError>,
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder").field("registry", &self.options.registry).finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    pub(super) fn new(durable: Arc<Inner>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let options = Options {
            durable,
            registry: Registry::default(),
            state: StateMap::default(),
            slot: None,
            build: None,
            queue: QueueName::default_queue(),
            max_activities: 256,
            max_runs: 1000,
            limits: HistoryLimits::default(),
            threads,
            cache: 1000,
            lease: LEASE_DEFAULT,
            turn_limit: TURN_LIMIT_DEFAULT,
        };
        Self { options, grace: GRACE_DEFAULT, refused: None }
    }

    fn registered(&mut self, result: Result<(), DuplicateName>) {
        if let Err(error) = result {
            self.refused.get_or_insert(error.into());
        }
    }

    fn named<T>(&mut self, name: Result<T, InvalidName>) -> Option<T> {
        name.map_err(|error| self.refused.get_or_insert(error.into())).ok()
    }

    /// Runs workflow `W`.
    pub fn workflow<W: Workflow>(mut self) -> Self {
        let result = self.options.registry.add_workflow(entry_of::<W>());
        self.registered(result);
        self
    }

    /// Runs activity `A`.
    pub fn activity<A: Activity>(mut self) -> Self {
        let result = self.options.registry.add_activity(ActivityEntry::of::<A>());
        self.registered(result);
        self
    }

    /// State that activities get with `ctx.state::<T>()`.
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.options.state.insert(state);
        self
    }

    /// A stable name: a restart under it proves its predecessor dead. Default: the first free one.
    pub fn slot(mut self, name: impl Into<String>) -> Self {
        self.options.slot = self.named(SlotName::new(name));
        self
    }

    /// The name of this build. Default: a hash of the executable's file.
    pub fn build_id(mut self, name: impl Into<String>) -> Self {
        self.options.build = self.named(BuildId::new(name));
        self
    }

    /// The task queue that it serves. Default: `default`.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        if let Some(queue) = self.named(QueueName::new(name)) {
            self.options.queue = queue;
        }
        self
    }

    /// Activity attempts at a time. Default 256.
    pub fn max_activities(mut self, attempts: usize) -> Self {
        self.options.max_activities = attempts.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Runs owned at a time. Default 1000.
    pub fn max_runs(mut self, runs: usize) -> Self {
        self.options.max_runs = runs.max(1);
        self
    }

    /// Events of one history past which further commands are refused. Default 20,000.
    pub fn max_events(mut self, events: u64) -> Self {
        self.options.limits.max_events = events;
        self
    }

    /// From how many events, and from about how many bytes of history on, `ctx.continue_as_new_suggested()` says so.
    /// Default 10,000 and 32 MiB.
    pub fn suggest_continue_as_new(mut self, events: u64, bytes: u64) -> Self {
        self.options.limits.suggest_events = events;
        self.options.limits.suggest_bytes = bytes;
        self
    }

    /// Threads that run workflow code. Default: one per core.
    pub fn workflow_threads(mut self, threads: usize) -> Self {
        self.options.threads = threads.max(1);
        self
    }

    /// Runs that each workflow thread keeps in memory. Default 1000.
    pub fn cached_runs(mut self, runs: usize) -> Self {
        self.options.cache = runs.max(1);
        self
    }

    /// How long a claim is trusted without renewal. Default 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease.max(Duration::from_millis(100));
        self
    }

    /// A turn that takes longer is a deadlock. Default 10 s.
    pub fn turn_limit(mut self, limit: Duration) -> Self {
        self.options.turn_limit = limit;
        self
    }

    /// How long running attempts may take to end at a shutdown. Default 10 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Registers the worker and starts to work.
    pub async fn start(self) -> Result<Worker, StartError> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        let running = start(self.options).await?;
        Ok(Worker { inner: Arc::new(WorkerInner { running, grace: self.grace, ended: OnceCell::new() }) })
    }
}

/// The tasks of a started worker.
pub(super) struct Running {
    pub(super) shared: Arc<Shared>,
    pub(super) owner: UnboundedSender<Message>,
    pub(super) rows: Arc<Rows>,
    /// The owner has let go of everything.
    pub(super) gone: CancellationToken,
    pub(super) polling: Mutex<JoinHandle<()>>,
    pub(super) slot: SlotName,
}

struct WorkerInner {
    running: Running,
    grace: Duration,
    ended: OnceCell<()>,
}

impl Drop for WorkerInner {
    fn drop(&mut self) {
        self.running.shared.stop_like_a_crash();
    }
}

/// A running worker. Dropping the last clone stops it like a crash would: nothing is lost, but its claims
/// stay until their leases run out. [`Worker::shutdown`] ends it in order.
#[derive(Clone)]
pub struct Worker {
    inner: Arc<WorkerInner>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("slot", &self.inner.running.slot).finish_non_exhaustive()
    }
}

impl Worker {
    /// The slot that it took.
    pub fn slot(&self) -> &SlotName {
        &self.inner.running.slot
    }

    /// This start of it.
    pub fn incarnation(&self) -> Incarnation {
        self.inner.running.shared.incarnation
    }

    /// How often replay met another input, duration or result than was recorded. It goes by what was recorded, and logs
    /// each; in strict replay it is a mismatch.
    pub fn replay_differences(&self) -> u64 {
        self.inner.running.shared.drift.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Stops claiming, lets running attempts end within the grace, commits what they returned, releases
    /// every lease, and returns when it is quiet. Further calls wait for the same end.
    pub async fn shutdown(&self) {
        self.inner.ended.get_or_init(|| self.inner.end()).await;
    }
}

impl WorkerInner {
    async fn end(&self) {
        let Running { shared, owner, rows, gone, polling, .. } = &self.running;
        shared.draining.cancel();
        // What a claim that is under way brings must be released too.
        let mut polling = polling.lock().await;
        if !polling.is_finished()
            && let Err(error) = (&mut *polling).await
        {
            tracing::error!(%error, "the poller did not end well");
        }
        tell(owner, Message::Drain);
        let quiet = async {
            gone.cancelled().await;
            rows.quiet().await;
        };
        tokio::pin!(quiet);
        let in_time = tokio::select! {
            biased;
            () = &mut quiet => true,
            () = shared.sleep(self.grace) => false,
        };
        if !in_time {
            tracing::warn!(grace = ?self.grace, "attempts did not end in time and are aborted");
            tell(owner, Message::Abort);
            shared.aborting.cancel();
            tokio::select! {
                biased;
                () = &mut quiet => {}
                () = shared.sleep(LAST_COMMITS) => {
                    tracing::error!("the last commits did not end in time; leases decide");
                }
            }
        }
        shared.stopped.cancel();
        if let Err(error) = shared.provider.worker_deregister(shared.incarnation).await {
            tracing::error!(%error, "the worker's slot was not given back");
        }
        tracing::info!(slot = %self.running.slot, "worker ended");
    }
}
