//! Tasks of a run: durable futures that go on beside the code that spawned them.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use super::future::DurableFuture;
use super::run::RunCell;

struct Slot<T> {
    value: Option<T>,
    waiter: Option<Waker>,
}

/// A spawned task. Awaiting it gives its value; a handle that was polled before and is awaited later is
/// the same wait.
#[must_use = "dropping a handle cancels its task; await it, or call `.detach()`"]
pub struct TaskHandle<T> {
    run: Weak<RunCell>,
    task: Option<u64>,
    slot: Rc<RefCell<Slot<T>>>,
}

impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("task", &self.task).finish_non_exhaustive()
    }
}

pub(super) fn spawn<F>(run: &Rc<RunCell>, future: F) -> TaskHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let slot = Rc::new(RefCell::new(Slot { value: None, waiter: None }));
    let filled = Rc::clone(&slot);
    let scope = run.open_scope("spawn");
    let task = run.spawn(
        scope,
        Box::pin(async move {
            let value = future.await;
            let waiter = {
                let mut slot = filled.borrow_mut();
                slot.value = Some(value);
                slot.waiter.take()
            };
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }),
    );
    TaskHandle { run: Rc::downgrade(run), task: Some(task), slot }
}

impl<T> TaskHandle<T> {
    /// Lets the task go on without the handle, until the workflow returns.
    pub fn detach(mut self) {
        self.task = None;
    }

    /// Whether the task has ended and its value waits to be taken.
    pub fn is_ready(&self) -> bool {
        self.slot.borrow().value.is_some()
    }
}

#[diagnostic::do_not_recommend]
impl<T> DurableFuture for TaskHandle<T> {}

impl<T> Future for TaskHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let mut slot = this.slot.borrow_mut();
        if let Some(value) = slot.value.take() {
            this.task = None;
            return Poll::Ready(value);
        }
        slot.waiter = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take()
            && let Some(run) = self.run.upgrade()
        {
            run.cancel_task(task);
        }
    }
}
