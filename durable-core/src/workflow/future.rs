//! Futures that may be awaited in a workflow, and the wrappers that the attribute puts round code.

use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::run::{self, RunCell};
use crate::engine::ScopeId;

/// A future that is replayed from history: the only kind that workflow code may await.
///
/// Implemented by the operations of a [`WorkflowContext`](super::WorkflowContext), by calls of activities,
/// and by what `#[durable::helper]` and `async` blocks in workflow code make. Not meant to be implemented
/// by hand: a future that waits for anything else than history stops the run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a durable future and cannot be awaited in a workflow",
    label = "this future is not replayed from history",
    note = "call it from an `#[activity]`, or use a `ctx` operation such as `ctx.sleep(..)`",
    note = "a helper `async fn` that only awaits durable futures must be marked `#[durable::helper]`"
)]
pub trait DurableFuture: Future {}

#[diagnostic::do_not_recommend]
impl<F: DurableFuture + Unpin + ?Sized> DurableFuture for &mut F {}

#[diagnostic::do_not_recommend]
impl<P: DerefMut> DurableFuture for Pin<P> where P::Target: DurableFuture {}

/// The body of a workflow or helper: durable, without a scope of its own.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Durable<F>(Pin<Box<F>>);

impl<F: Future> Future for Durable<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for Durable<F> {}

/// An `async` block in workflow code: durable, with a key scope minted where it was made.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Block<F> {
    future: Pin<Box<F>>,
    scope: Option<ScopeId>,
}

impl<F: Future> Block<F> {
    pub(super) fn in_scope(scope: Option<ScopeId>, future: F) -> Self {
        Self { future: Box::pin(future), scope }
    }
}

impl<F: Future> Future for Block<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = run::enter(self.scope);
        self.future.as_mut().poll(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for Block<F> {}

/// Lets only durable futures through; the attribute puts it round every `.await`.
pub fn check<F: IntoFuture>(future: F) -> F::IntoFuture
where
    F::IntoFuture: DurableFuture,
{
    future.into_future()
}

/// Wraps an `async` block of workflow code.
pub fn block<F: Future>(future: F) -> Block<F> {
    let scope = RunCell::current().map(|run| run.open_scope("block"));
    Block::in_scope(scope, future)
}

/// Wraps the body of a workflow or helper.
pub fn durable<F: Future>(future: F) -> Durable<F> {
    Durable(Box::pin(future))
}
