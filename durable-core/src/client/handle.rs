//! A handle on one instance.

use std::fmt;
use std::marker::PhantomData;

use super::Client;
use super::error::{ClientError, RunError, corrupt};
use super::outcome::RunOutcome;
use crate::history::{Failure, FailureKind};
use crate::id::{InstanceId, RunId, WorkflowId};
use crate::limits::POLL_INTERVAL;
use crate::payload::{DataError, decode};
use crate::provider::{CancelRequest, InstanceView, SendOutcome, Status};
use crate::workflow::Workflow;

/// A started workflow.
pub struct WorkflowHandle<W> {
    client: Client,
    workflow_id: WorkflowId,
    instance: InstanceId,
    run_id: RunId,
    marker: PhantomData<fn() -> W>,
}

impl<W> Clone for WorkflowHandle<W> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            workflow_id: self.workflow_id.clone(),
            instance: self.instance,
            run_id: self.run_id,
            marker: PhantomData,
        }
    }
}

impl<W> fmt::Debug for WorkflowHandle<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowHandle")
            .field("workflow_id", &self.workflow_id)
            .field("run_id", &self.run_id)
            .finish_non_exhaustive()
    }
}

impl<W: Workflow> WorkflowHandle<W> {
    pub(super) fn new(client: Client, workflow_id: WorkflowId, instance: InstanceId, run_id: RunId) -> Self {
        Self { client, workflow_id, instance, run_id, marker: PhantomData }
    }

    /// The user's name for the work.
    pub fn workflow_id(&self) -> &WorkflowId {
        &self.workflow_id
    }

    /// The run that was found or started.
    pub fn run_id(&self) -> RunId {
        self.run_id
    }

    /// The provider's key of the instance.
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// What is known of it now.
    pub async fn describe(&self) -> Result<InstanceView, ClientError> {
        let provider = &self.client.inner.provider;
        let view = self.client.again("instance_view", || provider.instance_view(self.instance)).await?;
        view.ok_or_else(|| ClientError::NotFound { workflow_id: self.workflow_id.clone() })
    }

    /// Asks it to cancel. It decides how it ends.
    pub async fn cancel(&self, reason: impl Into<String>) -> Result<SendOutcome, ClientError> {
        let inner = &self.client.inner;
        let request = CancelRequest {
            instance: self.instance,
            reason: reason.into(),
            request_id: inner.ids.request(),
            now: inner.clock.database_override(),
        };
        let sent =
            self.client.again("cancel_request", || inner.provider.cancel_request(request.clone())).await?;
        inner.wakeups.wake_pollers();
        Ok(sent)
    }

    /// Waits until it is closed: across every run in which it continues, to the result of the last.
    pub async fn result(&self) -> Result<W::Output, RunError<W::Error>> {
        let inner = &self.client.inner;
        loop {
            let closing = inner.wakeups.closing(self.instance);
            let closed = closing.notify.notified();
            tokio::pin!(closed);
            // Before the look, so that a close after it is not missed.
            closed.as_mut().enable();
            let view =
                self.client.again("instance_view", || inner.provider.instance_view(self.instance)).await?;
            let view = view.ok_or_else(|| corrupt(format!("workflow `{}` is gone", self.workflow_id)))?;
            if view.status == Status::DeadLettered {
                let reason = view.dead_letter_reason.unwrap_or_else(|| "no reason is stored".to_owned());
                return Err(RunError::DeadLettered { reason });
            }
            if !view.status.is_open() {
                return self.read(view.status, view.outcome.as_deref());
            }
            tokio::select! {
                biased;
                () = closed => {}
                () = inner.sleep(POLL_INTERVAL) => {}
            }
            if let Some(closed) = closing.told() {
                return self.read(closed.status, Some(&closed.outcome));
            }
        }
    }

    fn read(&self, status: Status, outcome: Option<&[u8]>) -> Result<W::Output, RunError<W::Error>> {
        let Some(bytes) = outcome else { return Err(RunError::Ended { status }) };
        let outcome = serde_json::from_slice(bytes).map_err(|error| {
            corrupt(format!("the outcome of `{}` cannot be read: {error}", self.workflow_id))
        })?;
        match outcome {
            RunOutcome::Completed(result) => {
                Ok(decode(&format!("the result of workflow `{}`", self.workflow_id), &result)?)
            }
            RunOutcome::Failed(failure) => Err(match self.typed(&failure) {
                Ok(Some(error)) => RunError::Failed { error, failure },
                Ok(None) => RunError::Refused(failure),
                Err(error) => error.into(),
            }),
            RunOutcome::Canceled(failure) => Err(match self.typed(&failure) {
                Ok(error) => RunError::Canceled { error, failure },
                Err(error) => error.into(),
            }),
            RunOutcome::ContinuedAsNew(next) => Err(corrupt(format!(
                "`{}` is closed and its outcome says that it went on in run {next}",
                self.workflow_id
            ))),
        }
    }

    /// The workflow's own error, if that is what the failure holds.
    fn typed(&self, failure: &Failure) -> Result<Option<W::Error>, DataError> {
        match &failure.error {
            Some(payload) if failure.kind == FailureKind::Application => {
                decode(&format!("the error of workflow `{}`", self.workflow_id), payload).map(Some)
            }
            _ => Ok(None),
        }
    }
}
