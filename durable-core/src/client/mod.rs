//! Clients: start runs, wait for results, ask them to cancel.

mod error;
mod handle;
mod lane;
mod outcome;
mod start;

use std::sync::Arc;
use std::time::Duration;

pub use self::error::{ClientError, RunError};
pub use self::handle::WorkflowHandle;
pub(crate) use self::lane::StartLane;
pub use self::outcome::RunOutcome;
pub use self::start::StartCall;
use crate::id::{RunId, WorkflowId};
use crate::provider::{ErrorKind, InstanceView, OpenInstances, Provider, ProviderError, ProviderResult};
use crate::replay::{ExportError, RunExport, read_history};
use crate::runtime::Inner;
use crate::workflow::Workflow;

/// Calls that fail for the moment are made again this often.
const TRIES: u32 = 8;

/// Starts runs and finds them.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

impl Client {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Starts workflow `W` under a workflow id. Nothing happens until the call is awaited.
    #[expect(clippy::needless_pass_by_value, reason = "starting hands the arguments over")]
    pub fn start<W: Workflow>(&self, workflow_id: impl Into<String>, input: W::Input) -> StartCall<W> {
        StartCall::new(self.clone(), workflow_id.into(), W::encode(&input))
    }

    /// Finds the instance of a workflow id: the open one, else the one that closed last.
    ///
    /// # Errors
    ///
    /// `NotFound`; `WrongType` if it is another workflow.
    pub async fn handle<W: Workflow>(
        &self,
        workflow_id: impl Into<String>,
    ) -> Result<WorkflowHandle<W>, ClientError> {
        let id = WorkflowId::new(workflow_id)?;
        let view = self.again("instance_find", || self.inner.provider.instance_find(&id)).await?;
        let view = view.ok_or_else(|| ClientError::NotFound { workflow_id: id.clone() })?;
        if view.workflow_type != W::NAME {
            let (found, wanted) = (view.workflow_type, W::NAME);
            return Err(ClientError::WrongType { workflow_id: id, found, wanted });
        }
        Ok(WorkflowHandle::new(self.clone(), id, view.instance, view.run_id))
    }

    /// The open run of a workflow id, else the one that closed last, with its whole history: to be written to a file and
    /// replayed, or attached to a bug report. It holds arguments, results and errors as they were recorded.
    ///
    /// # Errors
    ///
    /// `NotFound`; a history that cannot be read.
    pub async fn export(&self, workflow_id: impl Into<String>) -> Result<RunExport, ClientError> {
        let id = WorkflowId::new(workflow_id)?;
        let view = self.again("instance_find", || self.inner.provider.instance_find(&id)).await?;
        let view = view.ok_or(ClientError::NotFound { workflow_id: id })?;
        self.export_run(view.run_id).await
    }

    /// One run with its whole history: an earlier one of a workflow that has gone on in a new run, say.
    ///
    /// # Errors
    ///
    /// A run that is not there; a history that cannot be read.
    pub async fn export_run(&self, run_id: RunId) -> Result<RunExport, ClientError> {
        let events = self.again("history_read", || read_history(&*self.inner.provider, run_id)).await?;
        let corrupt = |error: ExportError| ProviderError::new(ErrorKind::Corrupt, error.to_string());
        Ok(RunExport::new(run_id, events).map_err(corrupt)?)
    }

    pub(crate) async fn open_instances(&self, page: OpenInstances) -> Result<Vec<InstanceView>, ClientError> {
        Ok(self.again("instances_open", || self.inner.provider.instances_open(page.clone())).await?)
    }

    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.inner.provider
    }

    /// Makes a call again while it fails for the moment.
    async fn again<T, F>(&self, what: &str, call: impl Fn() -> F) -> ProviderResult<T>
    where
        F: Future<Output = ProviderResult<T>>,
    {
        let mut tries = 1;
        loop {
            match call().await {
                Err(error) if error.kind().is_transient() && tries < TRIES => {
                    self.back_off(what, tries, &error).await;
                }
                answer => return answer,
            }
            tries += 1;
        }
    }

    async fn back_off(&self, what: &str, tries: u32, error: &ProviderError) {
        tracing::warn!(what, tries, %error, "a call of the database failed, will be made again");
        self.inner.sleep(Duration::from_millis(20).saturating_mul(1 << tries.min(6))).await;
    }
}
