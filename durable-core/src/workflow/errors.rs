//! What workflow code gets when a durable operation does not succeed.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::history::{Failure, FailureKind, TimeoutKind};
use crate::payload::{DataError, DurableData, decode};

/// The wait ended because the run was asked to cancel. Pass it on with `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the workflow was asked to cancel")]
pub struct Cancelled;

/// Why an activity gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ActivityErrorKind<E> {
    /// The activity returned this error and is not tried again.
    Failed(E),
    /// A time limit ran out.
    TimedOut(TimeoutKind),
    /// The run was asked to cancel, or the call was cancelled.
    Cancelled,
    /// The activity panicked in its last attempt.
    Panicked,
    /// The process died during the last attempt that the policy allows.
    Lost,
    /// The product refused the input or the result: it cannot be encoded or is over the limit.
    Refused,
}

/// An activity that gave no result: which one, why, and in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityError<E> {
    /// Registered name of the activity.
    pub activity_type: String,
    /// The command's id, where one was issued.
    pub activity_id: Option<u64>,
    /// Why, to match on.
    pub kind: ActivityErrorKind<E>,
    /// The error's own text.
    pub message: String,
    /// The texts of the error's sources, outermost first.
    pub causes: Vec<String>,
}

impl<E> ActivityError<E> {
    pub(super) fn bare(activity_type: &str, kind: ActivityErrorKind<E>, message: String) -> Self {
        Self { activity_type: activity_type.to_owned(), activity_id: None, kind, message, causes: Vec::new() }
    }

    /// The typed error, if the activity returned one.
    pub fn error(&self) -> Option<&E> {
        match &self.kind {
            ActivityErrorKind::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl<E: DurableData> ActivityError<E> {
    /// Revives a recorded failure.
    pub(super) fn revive(activity_type: &str, id: u64, failure: Failure) -> Result<Self, DataError> {
        let kind = match failure.kind {
            FailureKind::Application => {
                let what = format!("the error of activity `{activity_type}` (id {id})");
                let payload = failure.error.as_ref();
                ActivityErrorKind::Failed(match payload {
                    Some(payload) => decode(&what, payload)?,
                    None => return Err(DataError::Decode { what, reason: "history holds none".to_owned() }),
                })
            }
            FailureKind::TimedOut(kind) => ActivityErrorKind::TimedOut(kind),
            FailureKind::Cancelled => ActivityErrorKind::Cancelled,
            FailureKind::Panicked => ActivityErrorKind::Panicked,
            FailureKind::Lost => ActivityErrorKind::Lost,
            FailureKind::Refused => ActivityErrorKind::Refused,
        };
        Ok(Self {
            activity_type: activity_type.to_owned(),
            activity_id: Some(id),
            kind,
            message: failure.message,
            causes: failure.causes,
        })
    }
}

impl<E> fmt::Display for ActivityError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match &self.kind {
            ActivityErrorKind::Failed(_) => "failed",
            ActivityErrorKind::TimedOut(_) => "timed out",
            ActivityErrorKind::Cancelled => "was cancelled",
            ActivityErrorKind::Panicked => "panicked",
            ActivityErrorKind::Lost => "was lost with its process",
            ActivityErrorKind::Refused => "was refused",
        };
        write!(f, "activity `{}` {how}: {}", self.activity_type, self.message)
    }
}

impl<E: fmt::Debug> Error for ActivityError<E> {}

/// A ready-made error for workflows that define none of their own: a text, and the texts of its sources.
///
/// Anything that is a `std::error::Error` converts into it with `?`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowError {
    message: String,
    causes: Vec<String>,
}

impl WorkflowError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new() }
    }

    /// The texts of its sources, outermost first.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }
}

impl fmt::Debug for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowError").field("message", &self.message).field("causes", &self.causes).finish()
    }
}

impl fmt::Display for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// Not `Error` itself: the conversion below would then overlap with `From<T> for T`.
impl<E: Error> From<E> for WorkflowError {
    fn from(error: E) -> Self {
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        Self { message: error.to_string(), causes: causes.take(64).map(ToString::to_string).collect() }
    }
}
