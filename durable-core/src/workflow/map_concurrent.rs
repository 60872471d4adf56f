//! A durable future for each item, only so many of them at a time.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::branch::{BranchScope, Group};
use super::future::{Block, DurableFuture};

enum Member<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
    Taken,
}

/// Calls `f` for each item and waits for the futures, at most `limit` of them at a time; their values in order of the
/// items. An item is begun when one before it ends, so the order of beginnings follows history. Item `i` has key scope
/// `map_concurrent#n.i`; only members that something woke are polled.
///
/// ```
/// # use durable::prelude::*;
/// # #[activity] async fn resize(_ctx: &ActivityContext, image: u32) -> Result<u32, String> { Ok(image) }
/// #[workflow]
/// async fn gallery(ctx: &WorkflowContext, images: Vec<u32>) -> Result<u32, WorkflowError> {
///     let mut bytes = 0;
///     for resized in durable::map_concurrent(images, 4, |image| resize(ctx, image)).await {
///         bytes += resized?;
///     }
///     Ok(bytes)
/// }
/// ```
///
/// # Panics
///
/// With a limit of 0, under which nothing would ever begin. The panic blocks the run, which keeps its state.
pub fn map_concurrent<I, M, F>(items: I, limit: usize, f: M) -> MapConcurrent<I::IntoIter, M, F::IntoFuture>
where
    I: IntoIterator,
    M: FnMut(I::Item) -> F,
    F: IntoFuture,
    F::IntoFuture: DurableFuture,
{
    assert!(limit > 0, "`map_concurrent` with a limit of 0 would never begin; allow at least one at a time");
    let scope = BranchScope::open("map_concurrent");
    let items = items.into_iter();
    MapConcurrent { items, f, scope, limit, members: Vec::new(), running: 0, group: Arc::default() }
}

/// The wait of [`map_concurrent`].
#[must_use = "a future does nothing until it is awaited"]
pub struct MapConcurrent<I, M, F: Future> {
    items: I,
    f: M,
    scope: BranchScope,
    limit: usize,
    members: Vec<Member<Block<F>>>,
    running: usize,
    group: Arc<Group>,
}

impl<I, M, F: Future> fmt::Debug for MapConcurrent<I, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapConcurrent")
            .field("limit", &self.limit)
            .field("begun", &self.members.len())
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

impl<I, M, F: Future> Unpin for MapConcurrent<I, M, F> {}

#[diagnostic::do_not_recommend]
impl<I, M, F, Q> DurableFuture for MapConcurrent<I, M, F>
where
    I: Iterator,
    M: FnMut(I::Item) -> Q,
    Q: IntoFuture<IntoFuture = F, Output = F::Output>,
    F: Future,
{
}

impl<I, M, F, Q> MapConcurrent<I, M, F>
where
    I: Iterator,
    M: FnMut(I::Item) -> Q,
    Q: IntoFuture<IntoFuture = F, Output = F::Output>,
    F: Future,
{
    /// Begins items as long as there is room.
    fn begin(&mut self) {
        while self.running < self.limit {
            let Some(item) = self.items.next() else { return };
            let branch = self.scope.branch();
            let future = (self.f)(item);
            self.members.push(Member::Running(Box::pin(branch.wrap(future))));
            self.running += 1;
            self.poll_member(self.members.len() - 1);
        }
    }

    fn poll_member(&mut self, index: usize) {
        if let Some(member @ Member::Running(_)) = self.members.get_mut(index) {
            let waker = self.group.waker(index);
            if let Member::Running(future) = member
                && let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                *member = Member::Done(value);
                self.running -= 1;
            }
        }
    }
}

impl<I, M, F, Q> Future for MapConcurrent<I, M, F>
where
    I: Iterator,
    M: FnMut(I::Item) -> Q,
    Q: IntoFuture<IntoFuture = F, Output = F::Output>,
    F: Future,
{
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.group.set_parent(cx.waker());
        self.begin();
        while let Some(index) = self.group.pop() {
            self.poll_member(index);
            self.begin();
        }
        if self.running > 0 {
            return Poll::Pending;
        }
        let value = |member: &mut Member<Block<F>>| match std::mem::replace(member, Member::Taken) {
            Member::Done(value) => Some(value),
            Member::Running(_) | Member::Taken => None,
        };
        Poll::Ready(self.members.iter_mut().filter_map(value).collect())
    }
}
