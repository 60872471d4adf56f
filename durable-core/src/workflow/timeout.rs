//! A time limit round a durable future.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::future::DurableFuture;
use super::timer::Sleep;

/// Why a wait under a time limit gave no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum TimeoutError {
    /// The time is up; what was waited for is dropped, and cancelled if it had begun.
    #[error("it took longer than {0:?}")]
    Elapsed(Duration),
    /// The run was asked to cancel.
    #[error("the workflow was asked to cancel")]
    Cancelled,
}

/// The wait of [`WorkflowContext::timeout`](super::WorkflowContext::timeout).
#[must_use = "a future does nothing until it is awaited"]
pub struct Timeout<F> {
    /// Dropped first when the time is up.
    future: Option<Pin<Box<F>>>,
    timer: Option<Sleep>,
}

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout").field("timer", &self.timer).finish_non_exhaustive()
    }
}

impl<F> Timeout<F> {
    pub(super) fn new(future: F, timer: Sleep) -> Self {
        Self { future: Some(Box::pin(future)), timer: Some(timer) }
    }
}

impl<F> Unpin for Timeout<F> {}

#[diagnostic::do_not_recommend]
impl<F: DurableFuture> DurableFuture for Timeout<F> {}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, TimeoutError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (Some(future), Some(timer)) = (&mut this.future, &mut this.timer) else { return Poll::Pending };
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            this.future = None;
            this.timer = None;
            return Poll::Ready(Ok(value));
        }
        let limit = timer.duration;
        match Pin::new(timer).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => {
                this.future = None;
                this.timer = None;
                Poll::Ready(Err(match ended {
                    Ok(()) => TimeoutError::Elapsed(limit),
                    Err(_cancelled) => TimeoutError::Cancelled,
                }))
            }
        }
    }
}
