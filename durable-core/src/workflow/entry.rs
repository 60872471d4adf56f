//! A workflow without its types, as a registry keeps it.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use super::context::WorkflowContext;
use super::definition::Workflow;
use super::run::RunCell;
use crate::engine::ScopeId;
use crate::history::{Failure, FailureKind};
use crate::payload::{DataError, Payload, encode, keyed_hash};

/// A registered workflow.
pub trait WorkflowEntry: fmt::Debug + Send + Sync {
    /// The registered name.
    fn name(&self) -> &'static str;

    /// Starts the body as the root task of a run.
    #[doc(hidden)]
    fn begin(&self, start: Start<'_>) -> Result<(), DataError>;
}

/// The run to start in, and its input. Opaque outside the crate.
#[derive(Debug)]
pub struct Start<'a> {
    pub(super) run: &'a Rc<RunCell>,
    pub(super) input: &'a Payload,
}

struct Entry<W>(PhantomData<fn() -> W>);

impl<W: Workflow> fmt::Debug for Entry<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow `{}`", W::NAME)
    }
}

/// The entry of a workflow.
pub fn entry_of<W: Workflow>() -> Arc<dyn WorkflowEntry> {
    Arc::new(Entry::<W>(PhantomData))
}

impl<W: Workflow> WorkflowEntry for Entry<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn begin(&self, start: Start<'_>) -> Result<(), DataError> {
        let input = W::decode(start.input)?;
        let (weak, ctx) = (Rc::downgrade(start.run), WorkflowContext::new(start.run));
        let root = Box::pin(async move {
            let result = W::run(ctx, input).await;
            if let Some(run) = weak.upgrade() {
                close::<W>(&run, result);
            }
        });
        start.run.spawn(ScopeId::ROOT, root);
        Ok(())
    }
}

fn close<W: Workflow>(run: &RunCell, result: Result<W::Output, W::Error>) {
    let refused = |error: DataError| {
        Failure::new(FailureKind::Refused, format!("workflow `{}`: {error}", W::NAME)).terminal()
    };
    let failure = match result {
        Ok(output) => match encode(&format!("the result of workflow `{}`", W::NAME), &output) {
            Ok(payload) => {
                let hash = keyed_hash(run.seed, &payload);
                let _halted_keeps_its_fault = run.engine.borrow_mut().complete(payload, hash);
                return;
            }
            Err(error) => refused(error),
        },
        Err(error) => match encode(&format!("the error of workflow `{}`", W::NAME), &error) {
            Ok(payload) => {
                let report = W::report(&error);
                let mut failure =
                    Failure::new(FailureKind::Application, report.message).with_causes(report.causes);
                failure.error = Some(payload);
                failure.terminal()
            }
            Err(error) => refused(error),
        },
    };
    let _halted_keeps_its_fault = run.engine.borrow_mut().fail(failure);
}
