//! What an activity may know and use.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::id::{CommandId, RunId, WorkflowId};

/// The worker's typed state: one value per type, shared by all activities.
#[derive(Default)]
pub struct StateMap(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl std::fmt::Debug for StateMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateMap({} values)", self.0.len())
    }
}

impl StateMap {
    /// Puts a value in; replaces an earlier one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }
}

/// What an [`ActivityContext`] is made of.
#[derive(Debug, Clone)]
pub struct ActivityContextParts {
    /// The workflow that called.
    pub workflow_id: WorkflowId,
    /// Its run.
    pub run_id: RunId,
    /// The command.
    pub command: CommandId,
    /// See [`ActivityContext::idempotency_key`].
    pub idempotency_key: String,
    /// See [`ActivityContext::attempt`].
    pub attempt: u32,
    /// The worker's state.
    pub state: Arc<StateMap>,
    /// Fires when the attempt should stop.
    pub cancel: CancellationToken,
}

/// What an activity may know and use. It cannot issue commands: calling an activity in an activity does
/// not compile.
#[derive(Debug, Clone)]
pub struct ActivityContext {
    parts: ActivityContextParts,
}

impl ActivityContext {
    /// A context of these parts: the runtime makes it, and unit tests of activity bodies may.
    pub fn new(parts: ActivityContextParts) -> Self {
        Self { parts }
    }

    /// The workflow that called.
    pub fn workflow_id(&self) -> &WorkflowId {
        &self.parts.workflow_id
    }

    /// The run that called.
    pub fn run_id(&self) -> RunId {
        self.parts.run_id
    }

    /// The command's number in its run.
    pub fn activity_id(&self) -> CommandId {
        self.parts.command
    }

    /// Equal in every attempt of this call, different for every other call: give it to services that
    /// honour idempotency keys. 32 hexadecimal digits.
    pub fn idempotency_key(&self) -> &str {
        &self.parts.idempotency_key
    }

    /// Which attempt this is, from 1; attempts lost in a crash count.
    pub fn attempt(&self) -> u32 {
        self.parts.attempt
    }

    /// The worker's state of type `T`.
    ///
    /// # Panics
    ///
    /// If the worker was built without `.state(..)` of that type: the attempt ends as panicked, naming it.
    #[expect(clippy::panic, reason = "a worker without the state its activities use is a programmer error")]
    #[track_caller]
    pub fn state<T: Send + Sync + 'static>(&self) -> &T {
        match self.try_state() {
            Some(state) => state,
            None => panic!(
                "this worker has no state of type `{}`: give it with `worker().state(..)`",
                type_name::<T>()
            ),
        }
    }

    /// The worker's state of type `T`, if it was given.
    pub fn try_state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.parts.state.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Completes when the attempt should stop: it was cancelled, or the worker lost its claim.
    pub async fn cancelled(&self) {
        self.parts.cancel.cancelled().await;
    }

    /// Whether the attempt should stop.
    pub fn is_cancelled(&self) -> bool {
        self.parts.cancel.is_cancelled()
    }
}
