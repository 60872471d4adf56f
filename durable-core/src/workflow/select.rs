//! The wait of `select!`: the first branch that history resolves, ties in source order.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::future::{Block, DurableFuture};

/// What a look at a branch found.
#[derive(Debug)]
pub enum Polled<T> {
    /// Its condition does not hold, or it has ended without its pattern fitting.
    Disabled,
    /// It waits.
    Waiting,
    /// It has ended; its future is dropped.
    Ended(T),
}

/// Looks at a branch.
pub fn poll_branch<F: Future>(branch: &mut Option<Block<F>>, cx: &mut Context<'_>) -> Polled<F::Output> {
    let Some(future) = branch else { return Polled::Disabled };
    match Pin::new(future).poll(cx) {
        Poll::Ready(value) => {
            *branch = None;
            Polled::Ended(value)
        }
        Poll::Pending => Polled::Waiting,
    }
}

/// The wait of `select!`, which writes the closure.
#[must_use = "a future does nothing until it is awaited"]
pub struct Select<F>(F);

impl<F> fmt::Debug for Select<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").finish_non_exhaustive()
    }
}

impl<F> Unpin for Select<F> {}

impl<T, F: FnMut(&mut Context<'_>) -> Poll<T>> Future for Select<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        (self.0)(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<T, F: FnMut(&mut Context<'_>) -> Poll<T>> DurableFuture for Select<F> {}

/// No branch can be waited for, and the code does not say what to do then.
///
/// # Panics
///
/// Always: that blocks the run, which keeps its state.
#[expect(clippy::panic, reason = "a programmer error that the documentation names; the run keeps its state")]
pub fn nothing_to_select() -> ! {
    panic!("every branch of a `select!` is disabled, and it has no `else`")
}

/// Waits as the closure says; the `select!` macro calls it.
pub fn select<T, F: FnMut(&mut Context<'_>) -> Poll<T>>(poll: F) -> Select<F> {
    Select(poll)
}
