//! Waiting for a condition on the workflow's own state.

use std::fmt;
use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll};

use super::errors::Cancelled;
use super::future::DurableFuture;
use super::run::RunCell;

/// The wait of [`WorkflowContext::wait_until`](super::WorkflowContext::wait_until).
#[must_use = "a future does nothing until it is awaited"]
pub struct WaitUntil<C> {
    run: Weak<RunCell>,
    condition: C,
    waiting: Option<u64>,
}

impl<C> fmt::Debug for WaitUntil<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitUntil").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl<C: FnMut() -> bool> WaitUntil<C> {
    pub(super) fn new(run: Weak<RunCell>, condition: C) -> Self {
        Self { run, condition, waiting: None }
    }
}

impl<C> Unpin for WaitUntil<C> {}

#[diagnostic::do_not_recommend]
impl<C: FnMut() -> bool> DurableFuture for WaitUntil<C> {}

impl<C: FnMut() -> bool> Future for WaitUntil<C> {
    type Output = Result<(), Cancelled>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(run) = self.run.upgrade() else { return Poll::Pending };
        let cancelled = run.engine.borrow().is_cancelled(run.reach());
        if cancelled || (self.condition)() {
            if let Some(waiting) = self.waiting.take() {
                run.met(waiting);
            }
            return Poll::Ready(if cancelled { Err(Cancelled) } else { Ok(()) });
        }
        self.waiting = Some(run.wait_for_condition(self.waiting, cx.waker()));
        Poll::Pending
    }
}

impl<C> Drop for WaitUntil<C> {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting
            && let Some(run) = self.run.upgrade()
        {
            run.forget_condition(waiting);
        }
    }
}
