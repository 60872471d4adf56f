//! What combinators of durable futures share: a key scope for each branch, and wakers that tell branches apart.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use super::future::Block;
use super::run::{self, Entered, RunCell};
use crate::engine::ScopeId;

/// The scope of one combinator; hands out its branches in order.
#[derive(Debug)]
pub struct BranchScope {
    scope: Option<ScopeId>,
    branches: usize,
}

impl BranchScope {
    /// Opens a scope of that name below the current one.
    pub fn open(name: &str) -> Self {
        Self { scope: RunCell::current().map(|run| run.open_scope(name)), branches: 0 }
    }

    /// Enters the next branch: what is built until the guard is used belongs to it.
    pub fn branch(&mut self) -> Branch {
        let scope = self.next();
        Branch { entered: run::enter(scope), scope }
    }

    /// The next branch as a future.
    pub(super) fn block<F: IntoFuture>(&mut self, future: F) -> Block<F::IntoFuture> {
        Block::in_scope(self.next(), future.into_future())
    }

    fn next(&mut self) -> Option<ScopeId> {
        let index = self.branches;
        self.branches += 1;
        let run = RunCell::current()?;
        let branch = run.engine.borrow_mut().open_branch(self.scope?, index);
        Some(branch)
    }
}

/// A branch while its future is built.
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

/// Wakers of a group: a woken member is polled, the others are left alone, so a wide one stays linear.
#[derive(Debug, Default)]
pub(super) struct Group {
    woken: Mutex<VecDeque<usize>>,
    parent: Mutex<Option<Waker>>,
}

impl Group {
    pub(super) fn set_parent(&self, waker: &Waker) {
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    pub(super) fn pop(&self) -> Option<usize> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(super) fn waker(self: &Arc<Self>, index: usize) -> Waker {
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
