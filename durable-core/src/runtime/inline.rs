//! Deterministic mode: workflow code runs on the thread of whoever drives the process, one job at a time.
//!
//! Threads, randomness and time are what makes two executions differ. Here turns run when the driver says
//! so, ids come from a seed, time from an injected clock, and a flush holds one commit. On a single-threaded
//! executor, with a provider whose calls the driver lets through one by one, the same choices give the same
//! execution: "crash at call k" means the same thing twice.

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc;

use tokio::sync::mpsc::UnboundedSender;

use super::cache::Cache;
use super::job::{Order, perform};
use super::message::Message;
use super::tasks::Tasks;

/// The end of one worker's line to its host.
pub(crate) struct InlineLine {
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) answers: UnboundedSender<Message>,
    /// Runs that it keeps in memory.
    pub(super) cache: usize,
}

struct Line {
    end: InlineLine,
    waiting: VecDeque<Order>,
    cache: Cache,
}

/// Where the workflow code of a deterministic [`Durable`](super::Durable) runs. It stays on the thread that
/// made it.
pub struct InlineHost {
    started: mpsc::Receiver<InlineLine>,
    lines: Vec<Line>,
    tasks: Tasks,
}

impl fmt::Debug for InlineHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineHost").field("workers", &self.lines.len()).finish_non_exhaustive()
    }
}

impl InlineHost {
    pub(super) fn new(started: mpsc::Receiver<InlineLine>, tasks: Tasks) -> Self {
        Self { started, lines: Vec::new(), tasks }
    }

    /// How many jobs wait: loads and turns of runs, oldest first, those of an earlier worker before those of
    /// a later one.
    pub fn waiting(&mut self) -> usize {
        self.lines.extend(self.started.try_iter().map(|line| {
            let cache = Cache::new(line.cache);
            Line { end: line, waiting: VecDeque::new(), cache }
        }));
        for line in &mut self.lines {
            line.receive();
        }
        self.lines.iter().map(|line| line.waiting.len()).sum()
    }

    /// Does the `n`-th waiting job; there is at most one per run. `false` if fewer wait.
    pub fn perform(&mut self, n: usize) -> bool {
        let mut left = n;
        for line in &mut self.lines {
            if left < line.waiting.len() {
                line.perform(left);
                return true;
            }
            left -= line.waiting.len();
        }
        false
    }

    /// Drops every live run that waits in memory, as a cache under pressure does. They are replayed when they
    /// are needed.
    pub fn evict_all(&mut self) {
        for line in &mut self.lines {
            line.cache = Cache::new(line.end.cache);
        }
    }

    /// How often tasks of the runtime were polled so far. If a whole round of the executor leaves it as it
    /// was, they all wait for something.
    pub fn polls(&self) -> u64 {
        self.tasks.polls()
    }
}

impl Line {
    fn receive(&mut self) {
        loop {
            match self.end.orders.try_recv() {
                // Nothing of the run is under way when its owner evicts it.
                Ok(Order::Evict(instance)) => self.cache.evict(instance),
                Ok(order) => self.waiting.push_back(order),
                Err(mpsc::TryRecvError::Empty) => return,
                Err(mpsc::TryRecvError::Disconnected) => {
                    // The worker is gone, and with it whoever could be answered.
                    self.waiting.clear();
                    self.cache = Cache::new(1);
                    return;
                }
            }
        }
    }

    fn perform(&mut self, n: usize) {
        let Some(Order::Job(run, job)) = self.waiting.remove(n) else { return };
        let (instance, epoch) = (run.instance, run.epoch);
        let answer = perform(&mut self.cache, &run, job);
        if self.end.answers.send(Message::Thread { instance, epoch, answer }).is_err() {
            tracing::debug!(%instance, "an answer came after the worker had ended");
        }
    }
}
