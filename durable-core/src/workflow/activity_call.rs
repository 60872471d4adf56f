//! Calls of activities: built lazily, one command at first poll.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

use super::context::WorkflowContext;
use super::errors::{ActivityError, ActivityErrorKind};
use super::future::DurableFuture;
use super::run::RunCell;
use crate::activity::Activity;
use crate::engine::{ActivityRequest, Fault, Outcome, WaitState};
use crate::history::ActivityOptions;
use crate::id::{CommandId, CommandKey};
use crate::payload::{DataError, Payload, decode};
use crate::retry::RetryPolicy;

/// A call of an activity that has not started: await it, join it or spawn it.
///
/// Its key is minted where it is built, its id is drawn when it is first polled. A call that is never
/// polled is no command. Dropping a polled call requests the activity's cancellation.
#[must_use = "a call does nothing until it is awaited, joined or spawned"]
pub struct ActivityCall<A: Activity> {
    run: Weak<RunCell>,
    key: CommandKey,
    input: Result<Payload, DataError>,
    options: ActivityOptions,
    location: String,
    marker: PhantomData<fn() -> A>,
}

impl<A: Activity> fmt::Debug for ActivityCall<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityCall")
            .field("activity", &A::NAME)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<A: Activity> ActivityCall<A> {
    /// Builds the call; the attribute's fn does.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "arguments are passed as to the fn itself")]
    pub fn new(ctx: &WorkflowContext, input: A::Input) -> Self {
        Self {
            run: ctx.weak(),
            key: ctx.run().mint_key(A::NAME),
            input: A::encode(&input)
                .and_then(|p| p.check_size(&format!("the input of activity `{}`", A::NAME))),
            options: A::options(),
            location: Location::caller().to_string(),
            marker: PhantomData,
        }
    }

    /// Limits one attempt of this call.
    pub fn start_to_close(mut self, limit: Duration) -> Self {
        self.options = self.options.with_start_to_close(limit);
        self
    }

    /// Limits all attempts of this call together.
    pub fn schedule_to_close(mut self, limit: Duration) -> Self {
        self.options = self.options.with_schedule_to_close(limit);
        self
    }

    /// Retries this call by another policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options = self.options.with_retry(policy);
        self
    }
}

impl<A: Activity> IntoFuture for ActivityCall<A> {
    type Output = Result<A::Output, ActivityError<A::Error>>;
    type IntoFuture = ActivityFuture<A>;

    fn into_future(self) -> ActivityFuture<A> {
        ActivityFuture { run: self.run.clone(), state: State::Built(Some(Box::new(self))) }
    }
}

enum State<A: Activity> {
    Built(Option<Box<ActivityCall<A>>>),
    Waiting(CommandId),
    Finished,
}

/// The wait for an activity.
#[must_use = "a future does nothing until it is awaited"]
pub struct ActivityFuture<A: Activity> {
    run: Weak<RunCell>,
    state: State<A>,
}

impl<A: Activity> fmt::Debug for ActivityFuture<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityFuture").field("activity", &A::NAME).finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl<A: Activity> DurableFuture for ActivityFuture<A> {}

fn cancelled<E>(name: &str) -> ActivityError<E> {
    ActivityError::bare(name, ActivityErrorKind::Cancelled, "the workflow was asked to cancel".to_owned())
}

impl<A: Activity> ActivityFuture<A> {
    /// First poll: issues the command. Ready only with an error that needed none.
    fn issue(&mut self, run: &RunCell, cx: &Context<'_>) -> Poll<ActivityError<A::Error>> {
        let State::Built(call) = &mut self.state else { return Poll::Pending };
        let Some(call) = call.take() else { return Poll::Pending };
        let input = match call.input {
            Ok(input) => input,
            Err(error) => {
                self.state = State::Finished;
                let kind = ActivityErrorKind::Refused;
                return Poll::Ready(ActivityError::bare(A::NAME, kind, error.to_string()));
            }
        };
        let request = ActivityRequest {
            reach: run.reach(),
            key: call.key,
            activity_type: A::NAME.to_owned(),
            input,
            options: call.options,
            location: call.location,
        };
        let issued = run.engine.borrow_mut().schedule_activity(request);
        match issued {
            Ok(Some(id)) => {
                run.wait(id, cx.waker());
                self.state = State::Waiting(id);
                Poll::Pending
            }
            Ok(None) => {
                self.state = State::Finished;
                Poll::Ready(cancelled(A::NAME))
            }
            // The task has failed: this code never runs on.
            Err(_halted) => Poll::Pending,
        }
    }
}

impl<A: Activity> Future for ActivityFuture<A> {
    type Output = Result<A::Output, ActivityError<A::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(run) = this.run.upgrade() else { return Poll::Pending };
        let id = match &this.state {
            State::Built(_) => return this.issue(&run, cx).map(Err),
            State::Waiting(id) => *id,
            State::Finished => return Poll::Pending,
        };
        let state = run.engine.borrow_mut().take_outcome(id);
        let WaitState::Done(outcome) = state else {
            run.wait(id, cx.waker());
            return Poll::Pending;
        };
        this.state = State::Finished;
        let what = format!("the result of activity `{}` (id {id})", A::NAME);
        let revived = match outcome {
            Outcome::Completed(payload) => decode(&what, &payload).map(Ok),
            Outcome::Failed(failure) => ActivityError::revive(A::NAME, id.0, failure).map(Err),
            Outcome::Cancelled | Outcome::Fired => Ok(Err(cancelled(A::NAME))),
        };
        match revived {
            Ok(result) => Poll::Ready(result),
            Err(error) => {
                run.engine.borrow_mut().halt(Fault::Undecodable(error.to_string()));
                Poll::Pending
            }
        }
    }
}

impl<A: Activity> Drop for ActivityFuture<A> {
    fn drop(&mut self) {
        if let State::Waiting(id) = self.state
            && let Some(run) = self.run.upgrade()
        {
            run.abandon(id);
        }
    }
}
