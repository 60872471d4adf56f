//! What the runtime uses of the workflow and activity layers, in one place.

pub(crate) use super::mock::{
    ActivityContext, ActivityContextParts, ActivityEntry, LiveRun, RunIdentity, StateMap, TaskFailure,
    TurnOutput, WorkflowEntry,
};
pub(crate) use crate::engine::OpenActivity;
pub use super::mock::{Activity, Workflow, entry_of};
