//! Stand-ins for `workflow` and `activity` until those land; removed with the merge.
#![allow(dead_code, missing_docs, missing_debug_implementations, unused_variables, clippy::pedantic, unreachable_pub)]

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::engine::OpenActivity;
use crate::history::{Event, EventKind, Failure};
use crate::id::{BuildId, CommandId, EventId, IdSeed, RunId, WorkflowId};
use crate::payload::{DataError, DurableData, Payload};
use crate::provider::Status;
use crate::time::Timestamp;

pub struct ActivityContext(ActivityContextParts);
impl ActivityContext {
    pub fn new(parts: ActivityContextParts) -> Self {
        Self(parts)
    }
}
pub struct ActivityContextParts {
    pub workflow_id: WorkflowId,
    pub run_id: RunId,
    pub command: CommandId,
    pub idempotency_key: String,
    pub attempt: u32,
    pub state: Arc<StateMap>,
    pub cancel: CancellationToken,
}
#[derive(Default)]
pub struct StateMap(HashMap<TypeId, Box<dyn Any + Send + Sync>>);
impl StateMap {
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }
}
pub type ActivityRunner = Arc<
    dyn Fn(
            ActivityContext,
            Payload,
        ) -> Pin<Box<dyn Future<Output = Result<Payload, (Failure, Option<Duration>)>> + Send>>
        + Send
        + Sync,
>;
pub trait Activity: Sized + 'static {
    const NAME: &'static str;
}
#[derive(Clone)]
pub struct ActivityEntry {
    pub name: &'static str,
    pub run: ActivityRunner,
}
impl ActivityEntry {
    pub fn of<A: Activity>() -> Self {
        unimplemented!()
    }
}
pub trait Workflow: Sized + 'static {
    type Input: 'static;
    type Output: DurableData;
    type Error: DurableData;
    const NAME: &'static str;
    fn encode(input: &Self::Input) -> Result<Payload, DataError>;
}
pub trait WorkflowEntry: Send + Sync {
    fn name(&self) -> &'static str;
}
pub fn entry_of<W: Workflow>() -> Arc<dyn WorkflowEntry> {
    unimplemented!()
}
#[derive(Clone)]
pub struct RunIdentity {
    pub workflow_id: WorkflowId,
    pub run_id: RunId,
}
pub struct LiveRun(std::marker::PhantomData<*const ()>);
impl LiveRun {
    pub fn load(
        entry: Option<&Arc<dyn WorkflowEntry>>,
        identity: RunIdentity,
        events: Vec<Event>,
        max_events: u64,
    ) -> Result<LiveRun, TaskFailure> {
        unimplemented!()
    }
    pub fn next_event(&self) -> EventId {
        unimplemented!()
    }
    pub fn has_tail(&self) -> bool {
        unimplemented!()
    }
    pub fn due_timers(&self, at: Timestamp) -> Vec<EventKind> {
        unimplemented!()
    }
    pub fn open_activities(&self) -> Vec<OpenActivity> {
        unimplemented!()
    }
    pub fn next_timer(&self) -> Option<Timestamp> {
        unimplemented!()
    }
    pub fn seed(&self) -> IdSeed {
        unimplemented!()
    }
    pub fn turn(&mut self, inputs: Vec<EventKind>, at: Timestamp, build: &BuildId) -> Result<TurnOutput, TaskFailure> {
        unimplemented!()
    }
    pub fn is_closed(&self) -> bool {
        unimplemented!()
    }
}
pub struct TurnOutput {
    pub events: Vec<Event>,
    pub scheduled: Vec<OpenActivity>,
    pub cancelled: Vec<CommandId>,
    pub closed: Option<(Status, Bytes)>,
    pub next_timer: Option<Timestamp>,
}
pub struct TaskFailure {
    pub reason: String,
    pub inputs: Vec<Event>,
}
