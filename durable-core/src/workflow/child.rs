//! Calls of child workflows, as far as they can be named.

use std::fmt;
use std::marker::PhantomData;

use super::context::WorkflowContext;
use super::definition::Workflow;

/// A call of a workflow from another workflow.
///
/// Running a workflow as a child is not available yet: the call is no future, so awaiting it does not
/// compile. Start workflows with a client.
#[must_use = "a call does nothing until it is awaited, joined or spawned"]
pub struct ChildCall<W: Workflow> {
    input: W::Input,
    marker: PhantomData<fn() -> W>,
}

impl<W: Workflow> ChildCall<W> {
    /// Builds the call; the attribute's fn does.
    pub fn new(_ctx: &WorkflowContext, input: W::Input) -> Self {
        Self { input, marker: PhantomData }
    }

    /// The arguments, e.g. to start the workflow with a client.
    pub fn into_input(self) -> W::Input {
        self.input
    }
}

impl<W: Workflow> fmt::Debug for ChildCall<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildCall").field("workflow", &W::NAME).finish_non_exhaustive()
    }
}
