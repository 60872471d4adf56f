//! Durable timers.

use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

use super::errors::Cancelled;
use super::future::DurableFuture;
use super::run::RunCell;
use crate::engine::{Outcome, WaitState};
use crate::id::{CommandId, CommandKey};

/// The wait for a durable timer. Dropping a polled one cancels it.
#[derive(Debug)]
#[must_use = "a timer does nothing until it is awaited, joined or spawned"]
pub struct Sleep {
    pub(super) run: Weak<RunCell>,
    pub(super) duration: Duration,
    pub(super) state: SleepState,
}

#[derive(Debug)]
pub(super) enum SleepState {
    Built { key: CommandKey, location: String },
    Waiting(CommandId),
    Finished,
}

#[diagnostic::do_not_recommend]
impl DurableFuture for Sleep {}

impl Future for Sleep {
    type Output = Result<(), Cancelled>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(run) = this.run.upgrade() else { return Poll::Pending };
        match std::mem::replace(&mut this.state, SleepState::Finished) {
            SleepState::Built { key, location } => {
                let issued = run.engine.borrow_mut().start_timer(run.reach(), key, this.duration, location);
                match issued {
                    Ok(Some(id)) => {
                        run.wait(id, cx.waker());
                        this.state = SleepState::Waiting(id);
                        Poll::Pending
                    }
                    Ok(None) => Poll::Ready(Err(Cancelled)),
                    Err(_halted) => Poll::Pending,
                }
            }
            SleepState::Waiting(id) => {
                let state = run.engine.borrow_mut().take_outcome(id);
                match state {
                    WaitState::Pending => {
                        run.wait(id, cx.waker());
                        this.state = SleepState::Waiting(id);
                        Poll::Pending
                    }
                    WaitState::Done(Outcome::Fired) => Poll::Ready(Ok(())),
                    WaitState::Done(_) => Poll::Ready(Err(Cancelled)),
                }
            }
            SleepState::Finished => Poll::Pending,
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let SleepState::Waiting(id) = self.state
            && let Some(run) = self.run.upgrade()
        {
            run.abandon(id);
        }
    }
}
