//! Waking up within the process: a start wakes pollers, a closed run wakes who waits for its result.
//!
//! Only an optimization: a poll is the floor under every wake-up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::id::InstanceId;

/// Shared by all clients and workers of one `Durable` handle.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    pollers: Mutex<Vec<Weak<Notify>>>,
    closing: Mutex<HashMap<InstanceId, Weak<Notify>>>,
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
    pub(crate) fn closing(&self, instance: InstanceId) -> Arc<Notify> {
        let mut closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = closing.get(&instance).and_then(Weak::upgrade) {
            return notify;
        }
        if closing.len() % 1024 == 1023 {
            closing.retain(|_, notify| notify.strong_count() > 0);
        }
        let notify = Arc::new(Notify::new());
        closing.insert(instance, Arc::downgrade(&notify));
        notify
    }

    /// An instance was closed or given up.
    pub(crate) fn closed(&self, instance: InstanceId) {
        let notify = self.closing.lock().unwrap_or_else(PoisonError::into_inner).remove(&instance);
        if let Some(notify) = notify.and_then(|notify| notify.upgrade()) {
            notify.notify_waiters();
        }
    }
}
