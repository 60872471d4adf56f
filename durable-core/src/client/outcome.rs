//! How a run ended, as its instance stores it.

use serde::{Deserialize, Serialize};

use crate::history::Failure;
use crate::id::RunId;
use crate::payload::Payload;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RunOutcome {
    /// It returned `Ok`.
    Completed(Payload),
    /// It returned `Err`.
    Failed(Failure),
    /// It returned `Err` after it was asked to cancel.
    Canceled(Failure),
    /// It went on in this run.
    ContinuedAsNew(RunId),
}
