//! The handle from which clients and workers are made.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::notify::Wakeups;
use super::worker::WorkerBuilder;
use crate::client::Client;
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
    /// The database's clock and ours when it was read.
    time: Mutex<Option<(Timestamp, Duration)>>,
}

impl Durable {
    /// A handle on a provider whose schema is in place.
    pub fn new(provider: Arc<dyn Provider>, clock: Arc<dyn Clock>) -> Self {
        let (wakeups, time) = (Arc::default(), Mutex::default());
        Self { inner: Arc::new(Inner { provider, clock, wakeups, time }) }
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
        let known = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((now, at)) = known {
            let passed = self.clock.elapsed().saturating_sub(at);
            if passed < TIME_KEPT {
                return Ok(now.plus(passed));
            }
        }
        let now = self.provider.clock().await?;
        *self.time.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, self.clock.elapsed()));
        Ok(now)
    }

    pub(crate) async fn sleep(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.elapsed().saturating_add(duration)).await;
    }
}
