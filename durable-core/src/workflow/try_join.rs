//! Waiting for several durable futures until all are `Ok` or one is `Err`: `try_join!` and `try_join_all`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::branch::{BranchScope, Group};
use super::future::{Block, DurableFuture};
use super::join::Held;

/// A tuple of futures that `try_join!` waits for.
pub trait TryTuple {
    /// The tuple of their values.
    type Output;
    /// Their common error.
    type Error;

    /// Polls those that have not ended, in source order, up to the first error.
    fn try_poll_all(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Output, Self::Error>>;
}

impl<T, Error, F: Future<Output = Result<T, Error>>> Held<F> {
    /// Whether the branch has its value.
    fn try_poll(&mut self, cx: &mut Context<'_>) -> Result<bool, Error> {
        let done = self.poll(cx);
        match self.take_error() {
            Some(error) => Err(error),
            None => Ok(done),
        }
    }

    fn take_error(&mut self) -> Option<Error> {
        match self.value.take() {
            Some(Err(error)) => Some(error),
            other => {
                self.value = other;
                None
            }
        }
    }
}

macro_rules! try_tuples {
    ($(($($f:ident $t:ident $i:tt),+))+) => {$(
        impl<Error, $($t, $f: Future<Output = Result<$t, Error>>),+> TryTuple for ($(Held<$f>,)+) {
            type Output = ($($t,)+);
            type Error = Error;

            fn try_poll_all(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Output, Error>> {
                let mut done = true;
                $(
                    match self.$i.try_poll(cx) {
                        Ok(ended) => done &= ended,
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                )+
                if !done {
                    return Poll::Pending;
                }
                match ($(self.$i.value.take(),)+) {
                    #[allow(non_snake_case, reason = "type and value share the letter")]
                    ($(Some(Ok($f)),)+) => Poll::Ready(Ok(($($f,)+))),
                    _ => Poll::Pending,
                }
            }
        }
    )+};
}

try_tuples! {
    (A RA 0)
    (A RA 0, B RB 1)
    (A RA 0, B RB 1, C RC 2)
    (A RA 0, B RB 1, C RC 2, D RD 3)
    (A RA 0, B RB 1, C RC 2, D RD 3, E RE 4)
    (A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5)
    (A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6)
    (A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7)
}

/// The wait of `try_join!`.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct TryJoin<T>(T);

impl<T> Unpin for TryJoin<T> {}

impl<T: TryTuple> Future for TryJoin<T> {
    type Output = Result<T::Output, T::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.try_poll_all(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<T: TryTuple> DurableFuture for TryJoin<T> {}

/// Waits for all branches of a tuple, or for the first error; the `try_join!` macro calls it.
pub fn try_join<T: TryTuple>(branches: T) -> TryJoin<T> {
    TryJoin(branches)
}

enum Member<F, T> {
    Running(Pin<Box<F>>),
    Done(T),
    Taken,
}

/// Waits for all futures of an iterator; their values in its order, or the first error in history order. At an error
/// the others are dropped, in their order, which cancels what they have begun. Member `i` has key scope
/// `try_join_all#n.i`; only members that something woke are polled.
///
/// ```
/// # use durable::prelude::*;
/// # #[activity] async fn ship(_ctx: &ActivityContext, order: u32) -> Result<u32, String> { Ok(order) }
/// #[workflow]
/// async fn dispatch(ctx: &WorkflowContext, orders: Vec<u32>) -> Result<u32, WorkflowError> {
///     let parcels = durable::try_join_all(orders.into_iter().map(|order| ship(ctx, order))).await?;
///     Ok(parcels.into_iter().sum())
/// }
/// ```
pub fn try_join_all<I, T, E>(futures: I) -> TryJoinAll<<I::Item as IntoFuture>::IntoFuture, T, E>
where
    I: IntoIterator,
    I::Item: IntoFuture<Output = Result<T, E>>,
    <I::Item as IntoFuture>::IntoFuture: DurableFuture<Output = Result<T, E>>,
{
    let mut scope = BranchScope::open("try_join_all");
    let members: Vec<_> =
        futures.into_iter().map(|future| Member::Running(Box::pin(scope.block(future)))).collect();
    TryJoinAll { left: members.len(), members, group: Arc::default(), started: false, error: None }
}

/// The wait of [`try_join_all`].
#[must_use = "a future does nothing until it is awaited"]
pub struct TryJoinAll<F, T, E> {
    members: Vec<Member<Block<F>, T>>,
    left: usize,
    group: Arc<Group>,
    started: bool,
    error: Option<E>,
}

impl<F, T, E> fmt::Debug for TryJoinAll<F, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryJoinAll")
            .field("members", &self.members.len())
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<F, T, E> Unpin for TryJoinAll<F, T, E> {}

#[diagnostic::do_not_recommend]
impl<F: Future<Output = Result<T, E>>, T, E> DurableFuture for TryJoinAll<F, T, E> {}

impl<F: Future<Output = Result<T, E>>, T, E> TryJoinAll<F, T, E> {
    fn poll_member(&mut self, index: usize) {
        if let Some(member @ Member::Running(_)) = self.members.get_mut(index) {
            let waker = self.group.waker(index);
            if let Member::Running(future) = member
                && let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                match result {
                    Ok(value) => *member = Member::Done(value),
                    Err(error) => {
                        *member = Member::Taken;
                        self.error = Some(error);
                    }
                }
                self.left -= 1;
            }
        }
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Future for TryJoinAll<F, T, E> {
    type Output = Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.group.set_parent(cx.waker());
        if !self.started {
            self.started = true;
            for index in 0..self.members.len() {
                self.poll_member(index);
                if self.error.is_some() {
                    break;
                }
            }
        }
        while self.error.is_none()
            && let Some(index) = self.group.pop()
        {
            self.poll_member(index);
        }
        if let Some(error) = self.error.take() {
            self.members.clear();
            return Poll::Ready(Err(error));
        }
        if self.left > 0 {
            return Poll::Pending;
        }
        let value = |member: &mut Member<Block<F>, T>| match std::mem::replace(member, Member::Taken) {
            Member::Done(value) => Some(value),
            Member::Running(_) | Member::Taken => None,
        };
        Poll::Ready(Ok(self.members.iter_mut().filter_map(value).collect()))
    }
}
