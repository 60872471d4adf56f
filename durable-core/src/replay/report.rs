//! What a replay found.

use std::fmt;

use crate::id::{RunId, WorkflowId};

/// Whether code fits a history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It asks for exactly what was recorded.
    Fits,
    /// It would be blocked, for this reason.
    Blocked(String),
    /// No workflow of its type is registered.
    UnknownType,
    /// Its history cannot be read.
    Unreadable(String),
}

impl Verdict {
    /// Whether the run would go on.
    pub fn fits(&self) -> bool {
        *self == Self::Fits
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits => f.write_str("fits"),
            Self::Blocked(reason) => write!(f, "would be blocked: {reason}"),
            Self::UnknownType => {
                f.write_str("no workflow of its type is registered: it would wait for a worker that has it")
            }
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

/// What became of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The user's name for the work.
    pub workflow_id: WorkflowId,
    /// The run.
    pub run_id: RunId,
    /// Registered name of the workflow.
    pub workflow_type: String,
    /// Events that were replayed.
    pub events: usize,
    /// Whether the code fits.
    pub verdict: Verdict,
}

/// What became of every open run of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenRuns {
    /// In order of their workflow ids.
    pub runs: Vec<RunReport>,
}

impl OpenRuns {
    /// Whether all of them would go on.
    pub fn all_fit(&self) -> bool {
        self.runs.iter().all(|run| run.verdict.fits())
    }

    /// Those that would not.
    pub fn misfits(&self) -> impl Iterator<Item = &RunReport> {
        self.runs.iter().filter(|run| !run.verdict.fits())
    }
}

impl fmt::Display for OpenRuns {
    /// The runs that would not go on and why, then a line that counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut blocked, mut unknown, mut unreadable) = (0, 0, 0);
        for run in self.misfits() {
            match run.verdict {
                Verdict::Blocked(_) => blocked += 1,
                Verdict::UnknownType => unknown += 1,
                Verdict::Fits | Verdict::Unreadable(_) => unreadable += 1,
            }
            writeln!(f, "{} (`{}`, run {}) {}", run.workflow_id, run.workflow_type, run.run_id, run.verdict)?;
        }
        let fit = self.runs.len() - blocked - unknown - unreadable;
        write!(
            f,
            "{} open runs: {fit} fit, {blocked} would be blocked, {unknown} of an unknown type, {unreadable} unreadable",
            self.runs.len()
        )
    }
}
