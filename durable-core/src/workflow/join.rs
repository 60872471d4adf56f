//! Waiting for several durable futures: `join!` and `join_all`, each branch in a key scope of its own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::branch::{BranchScope, Group};
use super::future::{Block, DurableFuture};

enum Member<F: Future> {
    Running(Pin<Box<F>>),
    Done(Option<F::Output>),
}

/// Waits for all futures of an iterator; their values in its order. Member `i` has key scope
/// `join_all#n.i`; only members that something woke are polled.
pub fn join_all<I>(futures: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
    <I::Item as IntoFuture>::IntoFuture: DurableFuture,
{
    let mut scope = BranchScope::open("join_all");
    let members: Vec<_> =
        futures.into_iter().map(|future| Member::Running(Box::pin(scope.block(future)))).collect();
    JoinAll { left: members.len(), members, group: Arc::default(), started: false }
}

/// The wait of [`join_all`].
#[must_use = "a future does nothing until it is awaited"]
pub struct JoinAll<F: Future> {
    members: Vec<Member<Block<F>>>,
    left: usize,
    group: Arc<Group>,
    started: bool,
}

impl<F: Future> fmt::Debug for JoinAll<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinAll")
            .field("members", &self.members.len())
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<F: Future> Unpin for JoinAll<F> {}

#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for JoinAll<F> {}

impl<F: Future> JoinAll<F> {
    fn poll_member(&mut self, index: usize) {
        if let Some(member @ Member::Running(_)) = self.members.get_mut(index) {
            let waker = self.group.waker(index);
            if let Member::Running(future) = member
                && let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                *member = Member::Done(Some(value));
                self.left -= 1;
            }
        }
    }
}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.group.set_parent(cx.waker());
        if !self.started {
            self.started = true;
            for index in 0..self.members.len() {
                self.poll_member(index);
            }
        }
        while let Some(index) = self.group.pop() {
            self.poll_member(index);
        }
        if self.left > 0 {
            return Poll::Pending;
        }
        Poll::Ready(
            self.members
                .iter_mut()
                .filter_map(|member| match member {
                    Member::Done(value) => value.take(),
                    Member::Running(_) => None,
                })
                .collect(),
        )
    }
}

/// A tuple of futures that `join!` waits for.
pub trait Tuple {
    /// The tuple of their values.
    type Output;

    /// Polls those that have not ended, in source order.
    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output>;
}

/// A branch and, once it has ended, its value.
#[derive(Debug)]
pub struct Held<F: Future> {
    future: Pin<Box<F>>,
    pub(super) value: Option<F::Output>,
}

impl<F: Future> From<F> for Held<F> {
    fn from(future: F) -> Self {
        Self { future: Box::pin(future), value: None }
    }
}

impl<F: Future> Held<F> {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.value.is_none()
            && let Poll::Ready(value) = self.future.as_mut().poll(cx)
        {
            self.value = Some(value);
        }
        self.value.is_some()
    }
}

macro_rules! tuples {
    ($(($($f:ident $i:tt),+))+) => {$(
        impl<$($f: Future),+> Tuple for ($(Held<$f>,)+) {
            type Output = ($($f::Output,)+);

            fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let done = [$(self.$i.poll(cx)),+].iter().all(|done| *done);
                if !done {
                    return Poll::Pending;
                }
                match ($(self.$i.value.take(),)+) {
                    #[allow(non_snake_case, reason = "type and value share the letter")]
                    ($(Some($f),)+) => Poll::Ready(($($f,)+)),
                    _ => Poll::Pending,
                }
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

/// The wait of `join!`.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Join<T>(T);

impl<T> Unpin for Join<T> {}

impl<T: Tuple> Future for Join<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        self.0.poll_all(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Tuple> DurableFuture for Join<T> {}

/// Waits for all branches of a tuple; the `join!` macro calls it.
pub fn join<T: Tuple>(branches: T) -> Join<T> {
    Join(branches)
}
