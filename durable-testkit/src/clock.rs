//! Time that moves only when a test says so.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use durable_core::time::{Clock, Sleep, Timestamp};

/// Where virtual time begins: 2030-01-01T00:00:00Z.
const EPOCH: Timestamp = Timestamp::from_micros(1_893_456_000_000_000);

/// A clock that stands still until it is advanced. Clones are the same clock.
///
/// Every statement of a provider that is given [`Clock::database_override`] uses its time too, so a test
/// owns timers, leases and back-offs alike.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    elapsed: Duration,
    next_sleeper: u64,
    /// Who waits, by deadline and order of arrival.
    sleepers: BTreeMap<(Duration, u64), Waker>,
}

impl VirtualClock {
    /// A clock that stands at its beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Virtual now, as statements see it.
    pub fn now(&self) -> Timestamp {
        EPOCH.plus(self.shared().elapsed)
    }

    /// Moves time forward and wakes whoever is due, earliest first.
    pub fn advance(&self, by: Duration) {
        let to = self.shared().elapsed.saturating_add(by);
        self.advance_to(to);
    }

    /// Moves time forward to `to` (since the beginning) and wakes whoever is due; never goes back.
    pub fn advance_to(&self, to: Duration) {
        let due = {
            let mut shared = self.shared();
            let now = shared.elapsed.max(to);
            shared.elapsed = now;
            let later = shared.sleepers.split_off(&(now.saturating_add(Duration::from_nanos(1)), 0));
            std::mem::replace(&mut shared.sleepers, later)
        };
        for waker in due.into_values() {
            waker.wake();
        }
    }

    /// The earliest time (since the beginning) that somebody waits for.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.shared().sleepers.first_key_value().map(|(&(at, _), _)| at)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn elapsed(&self) -> Duration {
        self.shared().elapsed
    }

    fn sleep_until(&self, at: Duration) -> Sleep {
        let mut shared = self.shared();
        shared.next_sleeper += 1;
        Box::pin(Sleeper { clock: self.clone(), key: (at, shared.next_sleeper) })
    }

    fn database_override(&self) -> Option<Timestamp> {
        Some(self.now())
    }
}

/// One wait; it leaves the list when it is dropped.
struct Sleeper {
    clock: VirtualClock,
    key: (Duration, u64),
}

impl Future for Sleeper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.clock.shared();
        if shared.elapsed >= self.key.0 {
            return Poll::Ready(());
        }
        shared.sleepers.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.clock.shared().sleepers.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_ends_when_time_is_advanced_to_it_and_a_dropped_one_is_forgotten() {
        let clock = VirtualClock::new();
        let start = clock.now();
        let sleep = tokio::spawn(clock.sleep_until(Duration::from_hours(1)));
        let mut dropped = clock.sleep_until(Duration::from_mins(1));
        assert!(
            std::future::poll_fn(|context| Poll::Ready(dropped.as_mut().poll(context))).await.is_pending()
        );
        tokio::task::yield_now().await;
        assert_eq!(clock.next_deadline(), Some(Duration::from_mins(1)));
        drop(dropped);
        assert_eq!(clock.next_deadline(), Some(Duration::from_hours(1)));
        clock.advance(Duration::from_hours(1));
        sleep.await.unwrap();
        assert_eq!(clock.next_deadline(), None);
        assert_eq!(clock.now().since(start), Duration::from_hours(1));
        clock.sleep_until(Duration::ZERO).await;
    }
}
