//! The end of a run whose workflow goes on in a new one.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Weak;
use std::task::{Context, Poll};

use super::definition::Workflow;
use super::future::DurableFuture;
use super::run::RunCell;
use crate::engine::{Fault, Halted};
use crate::payload::{DataError, Payload};

/// Ends the run and goes on in a new one; made by
/// [`WorkflowContext::continue_as_new`](super::WorkflowContext::continue_as_new). Nothing after it runs.
#[must_use = "the run ends where this is awaited: write `return ctx.continue_as_new::<..>(..).await`"]
pub struct ContinueAsNew<W> {
    run: Weak<RunCell>,
    input: Option<Result<Payload, DataError>>,
    workflow: PhantomData<fn() -> W>,
}

impl<W> fmt::Debug for ContinueAsNew<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinueAsNew").field("input", &self.input).finish_non_exhaustive()
    }
}

impl<W: Workflow> ContinueAsNew<W> {
    pub(super) fn new(run: Weak<RunCell>, input: &W::Input) -> Self {
        Self { run, input: Some(W::encode(input)), workflow: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<W: Workflow> DurableFuture for ContinueAsNew<W> {}

impl<W: Workflow> Future for ContinueAsNew<W> {
    type Output = Result<W::Output, W::Error>;

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some((run, input)) = this.run.upgrade().zip(this.input.take()) else { return Poll::Pending };
        let mut engine = run.engine.borrow_mut();
        let own = engine.workflow_type() == W::NAME;
        // Refused or done: the code is not polled again, and the outcome stands in the engine.
        let _stands: Result<(), Halted> = match input {
            _ if !own => {
                let reason = format!(
                    "workflow `{}` continues as workflow `{}`, but a run continues as itself only: \
                     write `ctx.continue_as_new::<{}>(..)`",
                    engine.workflow_type(),
                    W::NAME,
                    engine.workflow_type()
                );
                Err(engine.halt(Fault::Refused(reason)))
            }
            Ok(input) => engine.continue_as_new(input),
            Err(error) => {
                let reason = format!("workflow `{}` cannot continue as new: {error}", W::NAME);
                Err(engine.halt(Fault::Refused(reason)))
            }
        };
        Poll::Pending
    }
}
