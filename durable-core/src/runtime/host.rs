//! Where runs live: on threads of the worker, or with whoever drives the process.

use std::sync::mpsc;

use super::inline::InlineLine;
use super::job::{JobKind, JobRun, Order};
use super::threads::Threads;
use crate::id::InstanceId;

/// Where the runs of one worker live.
pub(super) enum Host {
    /// Plain threads, watched for turns that do not end.
    Threads(Threads),
    /// The thread of [`InlineHost`](super::InlineHost), when its owner says so.
    Inline(mpsc::Sender<Order>),
}

impl Host {
    /// The host of a worker whose process is driven from outside.
    pub(super) fn inline(
        hosts: &mpsc::Sender<InlineLine>,
        line: impl FnOnce(mpsc::Receiver<Order>) -> InlineLine,
    ) -> Self {
        let (orders, inbox) = mpsc::channel();
        if hosts.send(line(inbox)).is_err() {
            tracing::error!("the inline host is gone: no turn will run");
        }
        Self::Inline(orders)
    }

    /// Hands a job to the place where the run lives.
    pub(super) fn send(&self, run: JobRun, job: JobKind) {
        match self {
            Self::Threads(threads) => threads.send(run, job),
            Self::Inline(orders) => inline(orders, Order::Job(run, job)),
        }
    }

    /// Drops the run from memory.
    pub(super) fn evict(&self, instance: InstanceId) {
        match self {
            Self::Threads(threads) => threads.evict(instance),
            Self::Inline(orders) => inline(orders, Order::Evict(instance)),
        }
    }

    /// Watches for turns that do not end, until the future is dropped. Whoever drives turns sees that himself.
    pub(super) async fn watch(&self) {
        match self {
            Self::Threads(threads) => threads.watch().await,
            Self::Inline(_) => std::future::pending().await,
        }
    }
}

fn inline(orders: &mpsc::Sender<Order>, order: Order) {
    if orders.send(order).is_err() {
        tracing::error!("the inline host is gone: no turn will run");
    }
}
