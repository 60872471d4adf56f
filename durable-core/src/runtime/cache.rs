//! Live runs in memory on one workflow thread, least recently used first out.

use std::collections::{BTreeMap, HashMap};

use crate::id::{EventId, InstanceId, RunId};
use crate::workflow::LiveRun;

struct Cached {
    live: LiveRun,
    run_id: RunId,
    used: u64,
}

/// The cache of one thread.
pub(super) struct Cache {
    capacity: usize,
    tick: u64,
    runs: HashMap<InstanceId, Cached>,
    order: BTreeMap<u64, InstanceId>,
}

impl Cache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), tick: 0, runs: HashMap::new(), order: BTreeMap::new() }
    }

    /// Takes the run out if it is the one wanted and knows exactly the events that were committed.
    pub(super) fn take(
        &mut self,
        instance: InstanceId,
        run_id: RunId,
        next_event: EventId,
    ) -> Option<LiveRun> {
        let cached = self.runs.remove(&instance)?;
        self.order.remove(&cached.used);
        (cached.run_id == run_id && cached.live.next_event() == next_event).then_some(cached.live)
    }

    /// Keeps the run; the least recently used one goes if there are too many.
    pub(super) fn put(&mut self, instance: InstanceId, run_id: RunId, live: LiveRun) {
        self.evict(instance);
        self.tick += 1;
        self.order.insert(self.tick, instance);
        self.runs.insert(instance, Cached { live, run_id, used: self.tick });
        while self.runs.len() > self.capacity {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.runs.remove(&oldest);
        }
    }

    pub(super) fn evict(&mut self, instance: InstanceId) {
        if let Some(cached) = self.runs.remove(&instance) {
            self.order.remove(&cached.used);
        }
    }
}
