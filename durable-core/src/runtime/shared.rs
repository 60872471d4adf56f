//! What all tasks of one worker share.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::gate::Gate;
use super::ids::Ids;
use super::notify::Wakeups;
use super::registry::Registry;
use super::tasks::Tasks;
use crate::activity::StateMap;
use crate::id::{BuildId, Incarnation, QueueName};
use crate::limits::HistoryLimits;
use crate::provider::{Provider, ProviderError};
use crate::time::{Clock, Timestamp};

/// A database clock that is this far behind what was known of it has been set back.
const CLOCK_SET_BACK: Duration = Duration::from_secs(5);

/// What all tasks of one worker share.
pub(super) struct Shared {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wakeups: Arc<Wakeups>,
    pub(super) registry: Registry,
    pub(super) state: Arc<StateMap>,
    pub(super) incarnation: Incarnation,
    pub(super) build: BuildId,
    pub(super) queue: QueueName,
    pub(super) lease: Duration,
    pub(super) max_runs: usize,
    pub(super) limits: HistoryLimits,
    /// Commits in one flush at most.
    pub(super) flush_max: usize,
    pub(super) ids: Arc<Ids>,
    pub(super) tasks: Tasks,
    /// Activity attempts at a time.
    pub(super) slots: Arc<Semaphore>,
    pub(super) gate: Gate,
    /// Runs that this worker owns.
    pub(super) owned: AtomicUsize,
    /// Differences that replay has found without a mismatch.
    pub(super) drift: AtomicU64,
    /// Wakes this worker's poller.
    pub(super) poll_now: Arc<Notify>,
    /// No further claims.
    pub(super) draining: CancellationToken,
    /// Attempts end at once.
    pub(super) aborting: CancellationToken,
    /// Everything ends at once.
    pub(super) stopped: CancellationToken,
    database_time: Mutex<(Timestamp, Duration)>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("incarnation", &self.incarnation).finish_non_exhaustive()
    }
}

/// What a worker is built from.
pub(super) struct SharedParts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wakeups: Arc<Wakeups>,
    pub(super) registry: Registry,
    pub(super) state: Arc<StateMap>,
    pub(super) incarnation: Incarnation,
    pub(super) build: BuildId,
    pub(super) queue: QueueName,
    pub(super) lease: Duration,
    pub(super) max_runs: usize,
    pub(super) limits: HistoryLimits,
    pub(super) flush_max: usize,
    pub(super) ids: Arc<Ids>,
    pub(super) tasks: Tasks,
    pub(super) max_activities: usize,
    pub(super) now: Timestamp,
}

impl Shared {
    pub(super) fn new(parts: SharedParts) -> Self {
        let elapsed = parts.clock.elapsed();
        let poll_now = parts.wakeups.poller();
        Self {
            gate: Gate::new(Arc::clone(&parts.clock), Arc::clone(&poll_now)),
            poll_now,
            slots: Arc::new(Semaphore::new(parts.max_activities)),
            owned: AtomicUsize::new(0),
            drift: AtomicU64::new(0),
            draining: CancellationToken::new(),
            aborting: CancellationToken::new(),
            stopped: CancellationToken::new(),
            database_time: Mutex::new((parts.now, elapsed)),
            provider: parts.provider,
            clock: parts.clock,
            wakeups: parts.wakeups,
            registry: parts.registry,
            state: parts.state,
            incarnation: parts.incarnation,
            build: parts.build,
            queue: parts.queue,
            lease: parts.lease,
            max_runs: parts.max_runs,
            limits: parts.limits,
            flush_max: parts.flush_max,
            ids: parts.ids,
            tasks: parts.tasks,
        }
    }

    /// What statements use instead of the database's clock.
    pub(super) fn now_override(&self) -> Option<Timestamp> {
        self.clock.database_override()
    }

    /// A call returned the database's clock.
    pub(super) fn saw_time(&self, now: Timestamp) {
        let elapsed = self.clock.elapsed();
        let mut seen = self.database_time.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.0.plus(elapsed.saturating_sub(seen.1));
        // Answers overtake each other: an older one must not turn time back. A clock that was set back may.
        if now > known || known.since(now) > CLOCK_SET_BACK {
            *seen = (now, elapsed);
        }
    }

    /// The database's clock, as far as it is known here.
    pub(super) fn database_now(&self) -> Timestamp {
        if let Some(now) = self.now_override() {
            return now;
        }
        let (now, at) = *self.database_time.lock().unwrap_or_else(PoisonError::into_inner);
        now.plus(self.clock.elapsed().saturating_sub(at))
    }

    /// Ends everything at once. `stopped` comes first: what is aborted after it writes nothing, as if the
    /// process had died.
    pub(super) fn stop_like_a_crash(&self) {
        self.stopped.cancel();
        self.draining.cancel();
        self.aborting.cancel();
    }

    /// Waits.
    pub(super) async fn sleep(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.elapsed().saturating_add(duration)).await;
    }

    /// Logs a failed provider call and waits before it is made again; `attempt` counts from 0.
    pub(super) async fn back_off(&self, what: &str, attempt: u32, error: &ProviderError) {
        let delay = Duration::from_millis(20).saturating_mul(1 << attempt.min(8)).min(Duration::from_secs(5));
        tracing::warn!(what, attempt, ?delay, kind = ?error.kind(), %error, "provider call failed, will be made again");
        self.sleep(delay).await;
    }
}
