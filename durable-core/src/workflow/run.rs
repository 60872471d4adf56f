//! One run in memory: its engine, its tasks, and which of their wakers waits for which command.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::poll::RunIdentity;
use crate::engine::{CancelReach, Engine, ScopeId};
use crate::id::{CommandId, CommandKey, IdSeed};

thread_local! {
    static CURRENT: RefCell<Option<Weak<RunCell>>> = const { RefCell::new(None) };
}

/// Tasks to poll, in the order in which they were woken.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue(Mutex<VecDeque<u64>>);

impl ReadyQueue {
    fn push(&self, task: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
    }

    fn pop(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

struct TaskWaker {
    task: u64,
    queued: AtomicBool,
    queue: Arc<ReadyQueue>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.queue.push(self.task);
        }
    }
}

type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

struct Task {
    /// Taken out while it is polled.
    future: Option<TaskFuture>,
    scope: ScopeId,
    reach: CancelReach,
    waker: Arc<TaskWaker>,
}

/// One run in memory.
pub(crate) struct RunCell {
    pub(super) engine: RefCell<Engine>,
    pub(super) identity: RunIdentity,
    pub(super) seed: IdSeed,
    wakers: RefCell<HashMap<CommandId, Waker>>,
    scope: Cell<ScopeId>,
    reach: Cell<CancelReach>,
    tasks: RefCell<BTreeMap<u64, Task>>,
    next_task: Cell<u64>,
    ready: Arc<ReadyQueue>,
    conditions: RefCell<Conditions>,
}

/// Waits for conditions, in the order in which they began.
#[derive(Default)]
struct Conditions {
    waiting: BTreeMap<u64, Waker>,
    begun: u64,
    met: u64,
}

impl fmt::Debug for RunCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCell").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Restores the scope that was current before.
pub(super) struct Entered(Option<(Rc<RunCell>, ScopeId)>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some((run, before)) = self.0.take() {
            run.scope.set(before);
        }
    }
}

/// Makes `scope` current until the guard drops.
pub(super) fn enter(scope: Option<ScopeId>) -> Entered {
    Entered(scope.zip(RunCell::current()).map(|(scope, run)| {
        let before = run.scope.replace(scope);
        (run, before)
    }))
}

/// Restores whether cancel requests reach the code.
pub(super) struct Reach(Option<(Rc<RunCell>, CancelReach)>);

impl Drop for Reach {
    fn drop(&mut self) {
        if let Some((run, before)) = self.0.take() {
            run.reach.set(before);
        }
    }
}

/// Sets whether cancel requests reach what is polled until the guard drops. Not a scope: an `async` block
/// keeps the scope in which it was made, but is shielded where it is polled.
pub(super) fn set_reach(reach: CancelReach) -> Reach {
    Reach(RunCell::current().map(|run| {
        let before = run.reach.replace(reach);
        (run, before)
    }))
}

/// Restores the run that was current on this thread before.
struct CurrentGuard(Option<Weak<RunCell>>);

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl RunCell {
    pub(super) fn new(identity: RunIdentity, seed: IdSeed, engine: Engine) -> Rc<Self> {
        Rc::new(Self {
            engine: RefCell::new(engine),
            identity,
            seed,
            wakers: RefCell::default(),
            scope: Cell::new(ScopeId::ROOT),
            reach: Cell::new(CancelReach::Reached),
            tasks: RefCell::default(),
            next_task: Cell::new(0),
            ready: Arc::default(),
            conditions: RefCell::default(),
        })
    }

    /// The run whose code is being polled on this thread.
    pub(super) fn current() -> Option<Rc<Self>> {
        CURRENT.with_borrow(|current| current.as_ref().and_then(Weak::upgrade))
    }

    pub(super) fn scope(&self) -> ScopeId {
        self.scope.get()
    }

    pub(super) fn reach(&self) -> CancelReach {
        self.reach.get()
    }

    pub(super) fn open_scope(&self, name: &str) -> ScopeId {
        self.engine.borrow_mut().open_scope(self.scope(), name)
    }

    pub(super) fn mint_key(&self, name: &str) -> CommandKey {
        self.engine.borrow_mut().mint_key(self.scope(), name)
    }

    pub(super) fn wait(&self, id: CommandId, waker: &Waker) {
        self.wakers.borrow_mut().insert(id, waker.clone());
    }

    pub(super) fn wake(&self, id: CommandId) {
        if let Some(waker) = self.wakers.borrow_mut().remove(&id) {
            waker.wake();
        }
    }

    /// A polled call was dropped.
    pub(super) fn abandon(&self, id: CommandId) {
        self.wakers.borrow_mut().remove(&id);
        self.engine.borrow_mut().abandon(id);
    }

    /// Adds a task and polls it once.
    pub(super) fn spawn(self: &Rc<Self>, scope: ScopeId, future: TaskFuture) -> u64 {
        let id = self.next_task.get();
        self.next_task.set(id + 1);
        let waker =
            Arc::new(TaskWaker { task: id, queued: AtomicBool::new(false), queue: Arc::clone(&self.ready) });
        self.tasks.borrow_mut().insert(id, Task { future: Some(future), scope, reach: self.reach(), waker });
        self.poll_task(id);
        id
    }

    /// Drops a task: its open calls are cancelled.
    pub(super) fn cancel_task(self: &Rc<Self>, id: u64) {
        let task = self.tasks.borrow_mut().remove(&id);
        drop(task);
    }

    /// Polls woken tasks until none is left, the run is over or the task has failed. Then conditions are looked at: what
    /// was polled may have made one true, and so may whoever waited for it.
    pub(super) fn poll_ready(self: &Rc<Self>) {
        loop {
            self.poll_woken();
            let (met, waiting) = {
                let mut conditions = self.conditions.borrow_mut();
                (conditions.met, std::mem::take(&mut conditions.waiting))
            };
            if waiting.is_empty() {
                return;
            }
            if self.is_over() {
                return;
            }
            waiting.into_values().for_each(Waker::wake);
            self.poll_woken();
            if self.conditions.borrow().met == met {
                return;
            }
        }
    }

    fn poll_woken(self: &Rc<Self>) {
        while !self.is_over() {
            let Some(task) = self.ready.pop() else { return };
            self.poll_task(task);
        }
    }

    /// A condition does not hold: it is looked at again after whatever happens next.
    pub(super) fn wait_for_condition(&self, waiting: Option<u64>, waker: &Waker) -> u64 {
        let mut conditions = self.conditions.borrow_mut();
        let id = waiting.unwrap_or_else(|| {
            conditions.begun += 1;
            conditions.begun
        });
        conditions.waiting.insert(id, waker.clone());
        id
    }

    /// The wait for a condition has ended.
    pub(super) fn met(&self, waiting: u64) {
        let mut conditions = self.conditions.borrow_mut();
        conditions.waiting.remove(&waiting);
        conditions.met += 1;
    }

    /// A wait for a condition was dropped.
    pub(super) fn forget_condition(&self, waiting: u64) {
        self.conditions.borrow_mut().waiting.remove(&waiting);
    }

    fn is_over(&self) -> bool {
        let engine = self.engine.borrow();
        engine.is_closed() || engine.fault().is_some()
    }

    fn poll_task(self: &Rc<Self>, id: u64) {
        let Some((mut future, scope, reach, waker)) = self.tasks.borrow_mut().get_mut(&id).and_then(|task| {
            task.waker.queued.store(false, Ordering::Release);
            Some((task.future.take()?, task.scope, task.reach, Arc::clone(&task.waker)))
        }) else {
            return;
        };
        let _current = CurrentGuard(CURRENT.replace(Some(Rc::downgrade(self))));
        let _entered = enter(Some(scope));
        let _reach = set_reach(reach);
        let waker = Waker::from(waker);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled == Poll::Pending
            && let Some(task) = self.tasks.borrow_mut().get_mut(&id)
        {
            task.future = Some(future);
            return;
        }
        // Finished, or cancelled by itself while it ran.
        let task = self.tasks.borrow_mut().remove(&id);
        drop((task, future));
    }

    /// Drops all code without issuing commands: eviction, failure, shutdown.
    pub(super) fn discard(&self) {
        self.engine.borrow_mut().discard();
        let tasks = self.tasks.take();
        drop(tasks);
        self.wakers.take();
        self.conditions.take();
    }
}
