//! Spawns the tasks of the runtime; in deterministic mode it counts their polls.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;

/// Spawns tasks. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    /// Only in deterministic mode: a counter that all threads write would cost for nothing.
    polls: Option<Arc<AtomicU64>>,
}

impl Tasks {
    /// Tasks whose polls are counted.
    pub(super) fn counted() -> Self {
        Self { polls: Some(Arc::default()) }
    }

    pub(crate) fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Some(polls) = self.polls.clone() else { return tokio::spawn(work) };
        tokio::spawn(async move {
            let mut work = pin!(work);
            std::future::poll_fn(|context| {
                polls.fetch_add(1, Ordering::Relaxed);
                work.as_mut().poll(context)
            })
            .await
        })
    }

    pub(super) fn polls(&self) -> u64 {
        self.polls.as_ref().map_or(0, |polls| polls.load(Ordering::Relaxed))
    }
}
