//! What a client's calls may end with.

use crate::history::Failure;
use crate::id::{InvalidName, WorkflowId};
use crate::payload::DataError;
use crate::provider::{ErrorKind, ProviderError};

/// Why a client's call failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The workflow id or the queue breaks the rule for names.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The arguments cannot be recorded.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The workflow id is taken, by other work or because the policy wants a new instance.
    #[error("workflow `{workflow_id}` was not started: {reason}")]
    AlreadyExists {
        /// The workflow id.
        workflow_id: WorkflowId,
        /// What is there already.
        reason: String,
    },
    /// There is no such instance.
    #[error("there is no workflow `{workflow_id}`; start it first, or check the id")]
    NotFound {
        /// The workflow id.
        workflow_id: WorkflowId,
    },
    /// The instance runs another workflow.
    #[error("workflow `{workflow_id}` is of type `{found}`, not `{wanted}`; ask for it by its own type")]
    WrongType {
        /// The workflow id.
        workflow_id: WorkflowId,
        /// The type that it has.
        found: String,
        /// The type that was asked for.
        wanted: &'static str,
    },
    /// The database.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ClientError {
    /// Whether the same call may succeed later: the database was away or busy.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind().is_transient())
    }
}

/// Why a run gave no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The workflow returned this error.
    #[error("the workflow failed: {}", failure.message)]
    Failed {
        /// The typed error.
        error: E,
        /// What history holds of it: its text and those of its sources.
        failure: Failure,
    },
    /// The workflow ended after it was asked to cancel.
    #[error("the workflow was cancelled: {}", failure.message)]
    Canceled {
        /// The typed error that it ended with, if it was one.
        error: Option<E>,
        /// What history holds of it.
        failure: Failure,
    },
    /// The product refused the workflow's result or error: it cannot be recorded.
    #[error("the workflow's end was refused: {}", .0.message)]
    Refused(Failure),
    /// It was ended from outside or by a time limit.
    #[error("the workflow ended as {status} without a result")]
    Ended {
        /// How it ended.
        status: crate::provider::Status,
    },
    /// It was given up after too many claims without progress.
    #[error("the workflow was dead-lettered: {reason}")]
    DeadLettered {
        /// Why.
        reason: String,
    },
    /// What is stored does not fit the type.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The database.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl<E> RunError<E> {
    /// The typed error, if the workflow returned one.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Failed { error, .. } | Self::Canceled { error: Some(error), .. } => Some(error),
            _ => None,
        }
    }

    /// Whether waiting again may bring a result: the database was away or busy.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind().is_transient())
    }
}

pub(super) fn corrupt<E>(reason: impl Into<String>) -> RunError<E> {
    ProviderError::new(ErrorKind::Corrupt, reason).into()
}
