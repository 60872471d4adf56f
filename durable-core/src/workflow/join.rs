//! Waiting for several durable futures: `join!` and `join_all`, each branch in a key scope of its own.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::future::{Block, DurableFuture};
use super::run::{self, Entered, RunCell};
use crate::engine::ScopeId;

/// The scope of one `join!`; hands out its branches in source order.
#[derive(Debug)]
pub struct JoinScope {
    scope: Option<ScopeId>,
    branches: usize,
}

impl JoinScope {
    /// Opens the scope below the current one.
    pub fn open() -> Self {
        Self { scope: RunCell::current().map(|run| run.open_scope("join")), branches: 0 }
    }

    /// Enters the next branch: what is built until the guard is used belongs to it.
    pub fn branch(&mut self) -> Branch {
        let index = self.branches;
        self.branches += 1;
        let scope = branch_scope(self.scope, index);
        Branch { entered: run::enter(scope), scope }
    }
}

fn branch_scope(scope: Option<ScopeId>, index: usize) -> Option<ScopeId> {
    let run = RunCell::current()?;
    let branch = run.engine.borrow_mut().open_branch(scope?, index);
    Some(branch)
}

/// A branch of a `join!` while its future is built.
pub struct Branch {
    entered: Entered,
    scope: Option<ScopeId>,
}

impl fmt::Debug for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Branch").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Branch {
    /// Leaves the branch; the future re-enters it whenever it is polled.
    pub fn wrap<F: IntoFuture>(self, future: F) -> Block<F::IntoFuture> {
        let block = Block::in_scope(self.scope, future.into_future());
        drop(self.entered);
        block
    }
}

/// Wakers of a group: a woken member is polled, the others are left alone, so a wide join stays linear.
#[derive(Debug, Default)]
struct Group {
    woken: Mutex<VecDeque<usize>>,
    parent: Mutex<Option<Waker>>,
}

impl Group {
    fn set_parent(&self, waker: &Waker) {
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    fn pop(&self) -> Option<usize> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn waker(self: &Arc<Self>, index: usize) -> Waker {
        Waker::from(Arc::new(MemberWaker { index, group: Arc::clone(self) }))
    }
}

struct MemberWaker {
    index: usize,
    group: Arc<Group>,
}

impl Wake for MemberWaker {
    fn wake(self: Arc<Self>) {
        self.group.woken.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.index);
        if let Some(parent) = &*self.group.parent.lock().unwrap_or_else(PoisonError::into_inner) {
            parent.wake_by_ref();
        }
    }
}

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
    let scope = RunCell::current().map(|run| run.open_scope("join_all"));
    let members: Vec<_> = futures
        .into_iter()
        .enumerate()
        .map(|(index, future)| {
            let scope = branch_scope(scope, index);
            Member::Running(Box::pin(Block::in_scope(scope, future.into_future())))
        })
        .collect();
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
    value: Option<F::Output>,
}

impl<F: Future> From<F> for Held<F> {
    fn from(future: F) -> Self {
        Self { future: Box::pin(future), value: None }
    }
}

impl<F: Future> Held<F> {
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
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
