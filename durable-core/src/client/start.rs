//! Starting a run.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;

use super::Client;
use super::error::ClientError;
use super::handle::WorkflowHandle;
use crate::history::{Event, EventKind, StartOptions, encode_events};
use crate::id::{EventId, QueueName, WorkflowId};
use crate::payload::{DataError, Payload, argument_digest};
use crate::provider::{ErrorKind, IdPolicy, StartOutcome, StartRun};
use crate::workflow::Workflow;

/// A start to be awaited.
#[must_use = "nothing is started until the call is awaited"]
pub struct StartCall<W> {
    client: Client,
    workflow_id: String,
    input: Result<Payload, DataError>,
    queue: Option<String>,
    priority: u8,
    policy: IdPolicy,
    marker: PhantomData<fn() -> W>,
}

impl<W: Workflow> fmt::Debug for StartCall<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartCall")
            .field("workflow", &W::NAME)
            .field("workflow_id", &self.workflow_id)
            .finish_non_exhaustive()
    }
}

impl<W: Workflow> StartCall<W> {
    pub(super) fn new(client: Client, workflow_id: String, input: Result<Payload, DataError>) -> Self {
        let (queue, priority, policy) = (None, StartOptions::default().priority, IdPolicy::default());
        Self { client, workflow_id, input, queue, priority, policy, marker: PhantomData }
    }

    /// The task queue. Default: `default`.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// 0 (first) to 9, else the start is refused as `Invalid`. Default 5.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// What happens if the workflow id is known. Default: the existing instance is used.
    pub fn id_policy(mut self, policy: IdPolicy) -> Self {
        self.policy = policy;
        self
    }

    async fn send(self) -> Result<WorkflowHandle<W>, ClientError> {
        let workflow_id = WorkflowId::new(self.workflow_id)?;
        let input = self.input?;
        let queue = self.queue.map_or_else(|| Ok(QueueName::default_queue()), QueueName::new)?;
        let client = self.client;
        let at = client.again("clock", || client.inner.database_now()).await?;
        let (run_id, seed) = (client.inner.ids.run(), client.inner.ids.seed());
        let input_digest = argument_digest(&input);
        let kind = EventKind::WorkflowExecutionStarted {
            workflow_id: workflow_id.clone(),
            workflow_type: W::NAME.to_owned(),
            run_number: 1,
            seed,
            input,
            options: StartOptions { queue: queue.clone(), priority: self.priority },
            continued_from: None,
        };
        let what = || format!("the start of workflow `{}`", W::NAME);
        let rows = encode_events(&[Event { id: EventId::FIRST, at, kind }])
            .map_err(|error| DataError::Encode { what: what(), reason: error.to_string() })?;
        let missing = || DataError::Encode { what: what(), reason: "it makes no row".to_owned() };
        let history = rows.into_iter().next().ok_or_else(missing)?;
        let start = StartRun {
            workflow_id: workflow_id.clone(),
            workflow_type: W::NAME.to_owned(),
            input_digest,
            queue,
            priority: self.priority,
            run_id,
            seed,
            request_id: client.inner.ids.request(),
            history,
            policy: self.policy,
            now: client.inner.clock.database_override(),
        };
        let found = match client.again("workflow_start", || client.start_run(start.clone())).await {
            Ok(StartOutcome::Started(found) | StartOutcome::Existing(found)) => found,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(ClientError::AlreadyExists { workflow_id, reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        };
        Ok(WorkflowHandle::new(client, workflow_id, found.instance, found.run_id))
    }
}

impl<W: Workflow> IntoFuture for StartCall<W> {
    type Output = Result<WorkflowHandle<W>, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
