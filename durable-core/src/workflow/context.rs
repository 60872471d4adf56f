//! The capability to issue commands: what a workflow may do.

use std::ops::RangeInclusive;
use std::panic::{Location, resume_unwind};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use uuid::Uuid;

use super::continue_as_new::ContinueAsNew;
use super::definition::Workflow;
use super::future::{Block, DurableFuture};
use super::run::{RunCell, set_reach};
use super::spawn::{TaskHandle, spawn};
use super::timeout::Timeout;
use super::timer::{Sleep, SleepState};
use super::wait_until::WaitUntil;
use crate::engine::{CancelReach, Fault, Halted, VersionRequest};
use crate::id::{RunId, WorkflowId};
use crate::limits::TIMER_MAX;
use crate::payload::{DataError, DurableData, decode, derive, encode};
use crate::time::Timestamp;

/// What a workflow may do. Stays on the thread that polls the run: it cannot move into another task.
#[derive(Debug, Clone)]
pub struct WorkflowContext {
    run: Weak<RunCell>,
}

/// A timer that no backend could hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("a timer of {asked:?} is longer than the longest, {TIMER_MAX:?} (100 years); wait in steps")]
pub struct TimerTooLong {
    /// What was asked for.
    pub asked: Duration,
}

/// The panic payload by which code that cannot return stops after its task has failed.
#[derive(Debug)]
pub(super) struct HaltedCode;

impl WorkflowContext {
    pub(super) fn new(run: &Rc<RunCell>) -> Self {
        Self { run: Rc::downgrade(run) }
    }

    pub(super) fn weak(&self) -> Weak<RunCell> {
        Weak::clone(&self.run)
    }

    /// The run behind the context.
    #[expect(
        clippy::expect_used,
        reason = "a context outlives its run only if user code leaks it out of the run, a programmer error"
    )]
    pub(super) fn run(&self) -> Rc<RunCell> {
        self.run.upgrade().expect("a WorkflowContext was used after its run had left memory")
    }

    /// The user's name for this piece of work.
    pub fn workflow_id(&self) -> WorkflowId {
        self.run().identity.workflow_id.clone()
    }

    /// The run.
    pub fn run_id(&self) -> RunId {
        self.run().identity.run_id
    }

    /// The time of the current turn, recorded in history: frozen within a turn, equal on replay, never
    /// going back.
    pub fn now(&self) -> Timestamp {
        self.run().engine.borrow().now()
    }

    /// Whether the run was asked to cancel and this place is not shielded from it.
    pub fn is_cancelled(&self) -> bool {
        let run = self.run();
        run.engine.borrow().is_cancelled(run.reach())
    }

    /// A durable timer: waits `duration` from [`now`](Self::now), across crashes and deploys.
    ///
    /// Zero is recorded like any other and fires at once. Ends in [`Cancelled`](super::Cancelled) when the
    /// run is asked to cancel.
    ///
    /// # Panics
    ///
    /// Over 100 years; use [`try_sleep`](Self::try_sleep) for a duration that is not yours. The panic blocks
    /// the run, which keeps its state.
    #[track_caller]
    #[expect(clippy::panic, reason = "a constant out of range is a programmer error; try_sleep returns it")]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        match self.try_sleep(duration) {
            Ok(sleep) => sleep,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`sleep`](Self::sleep) for a duration that may be out of range.
    ///
    /// # Errors
    ///
    /// [`TimerTooLong`] over 100 years; no command is issued.
    #[track_caller]
    pub fn try_sleep(&self, duration: Duration) -> Result<Sleep, TimerTooLong> {
        self.timer("sleep", duration)
    }

    #[track_caller]
    fn timer(&self, name: &str, duration: Duration) -> Result<Sleep, TimerTooLong> {
        if duration > TIMER_MAX {
            return Err(TimerTooLong { asked: duration });
        }
        let key = self.run().mint_key(name);
        let location = Location::caller().to_string();
        Ok(Sleep { run: self.weak(), duration, state: SleepState::Built { key, location } })
    }

    /// Waits for a durable future, but no longer than `limit` from now, measured as by [`sleep`](Self::sleep).
    ///
    /// The future is looked at first: one that has ended with the same event wins, and one that ends at once starts no
    /// timer. Whichever comes later is dropped, which cancels it: an activity that runs is told.
    ///
    /// ```
    /// # use durable::prelude::*;
    /// # #[activity] async fn answer(_ctx: &ActivityContext) -> Result<u32, String> { Ok(42) }
    /// # use std::time::Duration;
    /// #[workflow]
    /// async fn ask(ctx: &WorkflowContext) -> Result<Option<u32>, WorkflowError> {
    ///     match ctx.timeout(Duration::from_secs(30), answer(ctx)).await {
    ///         Ok(answered) => Ok(Some(answered?)),
    ///         Err(durable::TimeoutError::Elapsed(_)) => Ok(None),
    ///         Err(cancelled) => Err(cancelled.into()),
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Over 100 years. The panic blocks the run, which keeps its state.
    #[track_caller]
    #[expect(clippy::panic, reason = "a constant out of range is a programmer error, as in `sleep`")]
    pub fn timeout<F>(&self, limit: Duration, future: F) -> Timeout<F::IntoFuture>
    where
        F: IntoFuture,
        F::IntoFuture: DurableFuture,
    {
        match self.timer("timeout", limit) {
            Ok(timer) => Timeout::new(future.into_future(), timer),
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits until `condition` holds: it is looked at now, and after whatever happens to the run, so that no change by a
    /// spawned task or another branch is missed. It records nothing. Ends in [`Cancelled`](super::Cancelled) when the
    /// run is asked to cancel.
    ///
    /// The condition must depend on the workflow's own values only, and change none.
    ///
    /// ```
    /// # use durable::prelude::*;
    /// # use std::{cell::Cell, rc::Rc};
    /// # #[activity] async fn fetch(_ctx: &ActivityContext, n: u32) -> Result<u32, String> { Ok(n) }
    /// #[workflow]
    /// async fn half(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    ///     let done = Rc::new(Cell::new(0));
    ///     for n in 0..10 {
    ///         let (ctx2, done) = (ctx.clone(), done.clone());
    ///         ctx.spawn(async move {
    ///             if fetch(&ctx2, n).await.is_ok() {
    ///                 done.set(done.get() + 1);
    ///             }
    ///         })
    ///         .detach();
    ///     }
    ///     ctx.wait_until(|| done.get() >= 5).await?;
    ///     Ok(done.get())
    /// }
    /// ```
    pub fn wait_until<C: FnMut() -> bool>(&self, condition: C) -> WaitUntil<C> {
        WaitUntil::new(self.weak(), condition)
    }

    /// Runs `f` once and records its value; replay returns the recorded value and never calls `f`.
    ///
    /// For what is quick and may differ between two runs of the same code. `Send` keeps the context out.
    ///
    /// # Errors
    ///
    /// The value cannot be encoded or is over 2 MiB; nothing is recorded.
    pub fn side_effect<T, F>(&self, name: &str, f: F) -> Result<T, DataError>
    where
        T: DurableData,
        F: FnOnce() -> T + Send,
    {
        let run = self.run();
        let key = run.mint_key(name);
        let what = format!("the value of side effect `{name}`");
        let recalled = run.engine.borrow_mut().recall_side_effect(name, &key);
        match recalled {
            Ok(Some(recorded)) => match decode(&what, &recorded?) {
                Ok(value) => Ok(value),
                Err(error) => {
                    run.engine.borrow_mut().halt(Fault::Undecodable(error.to_string()));
                    resume_unwind(Box::new(HaltedCode))
                }
            },
            Ok(None) => {
                let encoded = encode(&what, &f());
                // The code goes on with what replay will read, a refusal included: both see the same.
                let seen = encoded.clone().and_then(|payload| decode(&what, &payload));
                let value = seen.as_ref().map_err(Clone::clone).and(encoded);
                let recorded = run.engine.borrow_mut().record_side_effect(name, key, value);
                match recorded {
                    Ok(()) => seen,
                    Err(Halted) => resume_unwind(Box::new(HaltedCode)),
                }
            }
            Err(Halted) => resume_unwind(Box::new(HaltedCode)),
        }
    }

    /// The version of a change by which this run goes: lets code change under runs that are under way.
    ///
    /// `versions` are those that the code has a path for; the lowest is the code as it was before the change. A run
    /// that passes here for the first time records the highest, and goes by it from then on; one that passed here
    /// before the call was in the code goes by the lowest. Every later call with the same `change_id` gives the same
    /// answer. It never waits, and shifts no command: runs of both ages go on.
    ///
    /// ```
    /// # use durable::prelude::*;
    /// # #[activity] async fn mail(_ctx: &ActivityContext) -> Result<(), String> { Ok(()) }
    /// # #[activity] async fn push(_ctx: &ActivityContext) -> Result<(), String> { Ok(()) }
    /// #[workflow]
    /// async fn notify(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    ///     if ctx.version("push-instead-of-mail", 1..=2) == 1 {
    ///         mail(ctx).await?;
    ///     } else {
    ///         push(ctx).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Once no open run goes by an old version any more, drop its path and turn the call into
    /// [`deprecate_version`](Self::deprecate_version); once no open run is older than that, remove it. Raise the
    /// lowest version only then, too: a run that has recorded none goes by it.
    ///
    /// A recorded version for which the code has no path, an empty range, and a change id that is not 1 to 255 bytes
    /// without a NUL block the run, which keeps its state.
    pub fn version(&self, change_id: &str, versions: RangeInclusive<u32>) -> u32 {
        let (min, max) = versions.into_inner();
        self.ask_version(VersionRequest { change_id, min, max, deprecated: false })
    }

    /// The last stage of a change: only `version` is left in the code, and this call is about to go.
    ///
    /// It records that the marker of the change may be left over, so that runs which were started with this call
    /// replay without it too. A run that has recorded another version is blocked.
    pub fn deprecate_version(&self, change_id: &str, version: u32) {
        self.ask_version(VersionRequest { change_id, min: version, max: version, deprecated: true });
    }

    fn ask_version(&self, request: VersionRequest<'_>) -> u32 {
        let version = self.run().engine.borrow_mut().version(request);
        version.unwrap_or_else(|Halted| resume_unwind(Box::new(HaltedCode)))
    }

    /// Whether the history has become long enough to go on in a new run: from 10,000 events or about 32 MiB on, by
    /// default. Recorded with each turn, so that replay answers the same.
    pub fn continue_as_new_suggested(&self) -> bool {
        self.run().engine.borrow().suggests_continue()
    }

    /// Ends this run and goes on in a new one of the same workflow, queue and options, with these arguments and an
    /// empty history. Workflow id, handle and unread messages stay; a request to cancel holds for the next run too.
    /// Activities and timers of this run that are still open are given up.
    ///
    /// The run ends where the future is awaited, in one commit with the beginning of the next.
    ///
    /// ```
    /// # use durable::prelude::*;
    /// # #[activity] async fn check_in(_ctx: &ActivityContext, day: u64) -> Result<(), String> { Ok(()) }
    /// #[workflow]
    /// async fn every_day(ctx: &WorkflowContext, mut day: u64) -> Result<(), WorkflowError> {
    ///     loop {
    ///         check_in(ctx, day).await?;
    ///         ctx.sleep(std::time::Duration::from_secs(86_400)).await?;
    ///         day += 1;
    ///         if ctx.continue_as_new_suggested() {
    ///             return ctx.continue_as_new::<every_day>(day).await;
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Another workflow than the run's own, and arguments that cannot be encoded or are over 2 MiB, block the run,
    /// which keeps its state.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are handed over, as in a call of the workflow"
    )]
    pub fn continue_as_new<W: Workflow>(&self, input: W::Input) -> ContinueAsNew<W> {
        ContinueAsNew::new(self.weak(), &input)
    }

    /// A random number derived from the run's recorded seed and this call's key: equal on every replay,
    /// and untouched by other calls added elsewhere.
    pub fn random(&self) -> u64 {
        let bytes = self.derived("random");
        u64::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }

    /// A unique id derived like [`random`](Self::random), in the form of a version 4 UUID.
    pub fn uuid(&self) -> Uuid {
        let bytes = self.derived("uuid");
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[..16]);
        uuid::Builder::from_random_bytes(id).into_uuid()
    }

    fn derived(&self, name: &str) -> [u8; 32] {
        let run = self.run();
        let key = run.mint_key(name);
        derive(run.seed, &key.0)
    }

    /// Starts a durable future at once, beside the code that goes on. Await the handle for its value;
    /// dropping it cancels what runs; [`TaskHandle::detach`] lets it run until the workflow returns.
    pub fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: IntoFuture + 'static,
        F::IntoFuture: DurableFuture + 'static,
        F::Output: 'static,
    {
        spawn(&self.run(), future.into_future())
    }

    /// Runs clean-up that a cancel request does not reach: waits inside it go on as if there were none.
    pub fn shield<F>(&self, future: F) -> Shield<F::IntoFuture>
    where
        F: IntoFuture,
        F::IntoFuture: DurableFuture,
    {
        let scope = self.run().open_scope("shield");
        Shield(Block::in_scope(Some(scope), future.into_future()))
    }
}

/// Clean-up that a cancel request does not reach.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Shield<F>(Block<F>);

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _reach = set_reach(CancelReach::Shielded);
        Pin::new(&mut self.0).poll(cx)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Future> DurableFuture for Shield<F> {}
