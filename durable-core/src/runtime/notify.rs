//! Waking up within the process: a start wakes pollers, a closed run wakes who waits for its result.
//!
//! Only an optimization: a poll is the floor under every wake-up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::id::InstanceId;
use crate::provider::Status;

/// How an instance was closed, as its proven commit says.
#[derive(Debug, Clone)]
pub(crate) struct Closed {
    pub(crate) status: Status,
    /// The encoded outcome.
    pub(crate) outcome: Bytes,
}

/// What those who wait for one instance share.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    pub(crate) notify: Notify,
    told: OnceLock<Closed>,
}

impl Closing {
    /// How it was closed, if that happened in this process while somebody waited.
    pub(crate) fn told(&self) -> Option<&Closed> {
        self.told.get()
    }
}

/// Shared by all clients and workers of one `Durable` handle.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    pollers: Mutex<Vec<Weak<Notify>>>,
    closing: Mutex<HashMap<InstanceId, Weak<Closing>>>,
}

impl Wakeups {
    /// A wake-up for one poller.
    pub(crate) fn poller(&self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        let mut pollers = self.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        pollers.retain(|poller| poller.strong_count() > 0);
        pollers.push(Arc::downgrade(&notify));
        notify
    }

    /// There may be something to claim.
    pub(crate) fn wake_pollers(&self) {
        for poller in self.pollers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if let Some(poller) = poller.upgrade() {
                poller.notify_one();
            }
        }
    }

    /// A wake-up for one who waits until an instance is closed.
    pub(crate) fn closing(&self, instance: InstanceId) -> Arc<Closing> {
        let mut waiting = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(closing) = waiting.get(&instance).and_then(Weak::upgrade) {
            return closing;
        }
        if waiting.len() % 1024 == 1023 {
            waiting.retain(|_, closing| closing.strong_count() > 0);
        }
        let closing = Arc::new(Closing::default());
        waiting.insert(instance, Arc::downgrade(&closing));
        closing
    }

    /// An instance was closed, or given up: then there is no outcome to tell.
    pub(crate) fn closed(&self, instance: InstanceId, closed: Option<Closed>) {
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner).remove(&instance);
        let Some(closing) = closing.and_then(|closing| closing.upgrade()) else { return };
        if let Some(closed) = closed {
            closing.told.get_or_init(|| closed);
        }
        closing.notify.notify_waiters();
    }
}
