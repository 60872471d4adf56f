//! Replays histories against the workflows of this build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use super::export::RunExport;
use super::read_history;
use super::report::{OpenRuns, RunReport, Verdict};
use crate::client::{Client, ClientError};
use crate::engine::Strictness;
use crate::limits::TURN_LIMIT_DEFAULT;
use crate::provider::{ErrorKind, InstanceView, OpenInstances};
use crate::workflow::{LiveRun, RunIdentity, RunOptions, Workflow, WorkflowEntry, entry_of};

/// Open instances that are asked for at once.
const PAGE: u32 = 100;

/// Replays recorded runs against workflows of this build, without running an activity and without writing anything.
///
/// ```
/// # use durable::prelude::*;
/// # use durable::replay::Replayer;
/// # #[workflow] async fn checkout(_ctx: &WorkflowContext) -> Result<(), WorkflowError> { Ok(()) }
/// # async fn check(durable: Durable) -> Result<(), Box<dyn std::error::Error>> {
/// // Before a deploy, with the new build, against the database of the old one:
/// let report = Replayer::new().workflow::<checkout>().open_runs(&durable.client()).await?;
/// println!("{report}");
/// assert!(report.all_fit());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a replayer does nothing until it is given a history"]
pub struct Replayer {
    workflows: BTreeMap<&'static str, Arc<dyn WorkflowEntry>>,
    strictness: Strictness,
    time_limit: Duration,
}

impl Default for Replayer {
    fn default() -> Self {
        Self::new()
    }
}

impl Replayer {
    /// A replayer that knows no workflow yet. It goes by what a worker goes by: commands have to match, inputs, durations
    /// and results may differ.
    pub fn new() -> Self {
        Self { workflows: BTreeMap::new(), strictness: Strictness::Tell, time_limit: TURN_LIMIT_DEFAULT }
    }

    /// Registers a workflow.
    pub fn workflow<W: Workflow>(mut self) -> Self {
        self.workflows.insert(W::NAME, entry_of::<W>());
        self
    }

    /// Strict replay: another input of an activity, another duration of a timer, another result or error is a mismatch too,
    /// with the name of the field.
    pub fn strict(mut self) -> Self {
        self.strictness = Strictness::Refuse;
        self
    }

    /// How long the replay of one run may take. Default 10 s. A run that takes longer is reported as blocked.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Whether the code fits one run.
    pub fn replay(&self, run: &RunExport) -> Verdict {
        let Some(verdict) = self.begin(run) else { return Verdict::UnknownType };
        verdict.recv_timeout(self.time_limit).unwrap_or_else(|_| self.took_too_long(&run.workflow_type))
    }

    /// Replays on a thread of its own, outside of any async runtime, as workers do.
    fn begin(&self, run: &RunExport) -> Option<mpsc::Receiver<Verdict>> {
        let entry = Arc::clone(self.workflows.get(run.workflow_type.as_str())?);
        let identity = RunIdentity { workflow_id: run.workflow_id.clone(), run_id: run.run_id };
        let options = RunOptions { strictness: self.strictness, ..RunOptions::default() };
        let (events, (answer, verdict)) = (run.events.clone(), mpsc::channel());
        std::thread::spawn(move || {
            let verdict = match LiveRun::load(Some(&entry), identity, events, options) {
                Ok(_) => Verdict::Fits,
                Err(failure) => Verdict::Blocked(failure.reason),
            };
            // Nobody waits any more for one that took too long.
            let _late = answer.send(verdict);
        });
        Some(verdict)
    }

    fn took_too_long(&self, workflow: &str) -> Verdict {
        Verdict::Blocked(format!(
            "workflow `{workflow}` did not replay within {:?}: workflow code must not block or loop",
            self.time_limit
        ))
    }

    /// Whether the code fits every open run of a database. Runs that are started or closed meanwhile may be among them.
    ///
    /// # Errors
    ///
    /// The database's. A history that cannot be read is part of the report instead.
    pub async fn open_runs(&self, client: &Client) -> Result<OpenRuns, ClientError> {
        let (mut report, mut after) = (OpenRuns::default(), None);
        loop {
            let page = client.open_instances(OpenInstances { after, limit: PAGE }).await?;
            let Some(last) = page.last() else { return Ok(report) };
            after = Some(last.workflow_id.clone());
            for view in page {
                report.runs.push(self.open_run(client, view).await?);
            }
        }
    }

    async fn open_run(&self, client: &Client, view: InstanceView) -> Result<RunReport, ClientError> {
        let mut report = RunReport {
            workflow_id: view.workflow_id,
            run_id: view.run_id,
            workflow_type: view.workflow_type,
            events: 0,
            verdict: Verdict::UnknownType,
        };
        let events = match read_history(client.provider(), view.run_id).await {
            Ok(events) => events,
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                report.verdict = Verdict::Unreadable(error.to_string());
                return Ok(report);
            }
            Err(error) => return Err(error.into()),
        };
        report.events = events.len();
        let (workflow_id, workflow_type) = (report.workflow_id.clone(), report.workflow_type.clone());
        let run = RunExport { workflow_id, run_id: view.run_id, workflow_type, events };
        let replayer = self.clone();
        // It waits for a thread that must not know of the runtime, so it waits where that may be done.
        report.verdict = match tokio::task::spawn_blocking(move || replayer.replay(&run)).await {
            Ok(verdict) => verdict,
            Err(error) => Verdict::Blocked(format!("its replay came to no end: {error}")),
        };
        Ok(report)
    }
}

/// Demands that every exported run whose path matches fits; the `assert_replays!` macro calls it.
///
/// # Panics
///
/// When one does not, cannot be read, or when no file matches.
#[doc(hidden)]
#[track_caller]
pub fn assert_files(replayer: &Replayer, root: &str, pattern: &str) {
    let files = matching(&Path::new(root).join(pattern));
    assert!(!files.is_empty(), "no file matches {pattern} in {root}: nothing would be tested");
    let mut misfits = Vec::new();
    for file in &files {
        let verdict = match RunExport::read(file) {
            Ok(run) => replayer.replay(&run),
            Err(error) => Verdict::Unreadable(error.to_string()),
        };
        if !verdict.fits() {
            misfits.push(format!("{}: {verdict}", file.display()));
        }
    }
    let counts = (misfits.len(), files.len());
    assert!(
        misfits.is_empty(),
        "{} of {} recorded runs do not replay:\n{}",
        counts.0,
        counts.1,
        misfits.join("\n")
    );
}

/// The files that a path means in whose last part `*` stands for any text, in order.
fn matching(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| {
            file.file_name().and_then(|found| found.to_str()).is_some_and(|found| fits(found, name))
        })
        .collect();
    files.sort();
    files
}

/// Whether a name is what the pattern says.
fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (name, pattern, expected) in [
            ("a.json", "*.json", true),
            ("a.json", "a.json", true),
            ("a.json", "*", true),
            ("a.json", "a*n", true),
            ("a.json.bak", "*.json", false),
            ("ab", "a*b*b", false),
            ("abab", "a*b*b", true),
            ("b.json", "a.json", false),
            ("x", "", false),
        ] {
            assert_eq!(fits(name, pattern), expected, "{name} {pattern}");
        }
    }
}
