//! Input checks, decisions and refusals that every backend shares, so that the same input gets the same
//! answer and the same words everywhere (G15). Pure: it sees what a backend read, never a backend.

use super::error::{ErrorKind, ProviderError, ProviderResult};
use super::status::Status;
use super::workflow_store::{IdPolicy, RunCommit, StartRun};
use crate::history::EncodedBatch;
use crate::id::{ActivityRowId, EventId, InstanceId, RunId, check_name};

/// The last priority; 0 is the first.
pub const PRIORITY_MAX: u8 = 9;

/// What a backend knows of the instance that a start meets under its workflow id.
#[derive(Debug, Clone)]
pub struct ExistingInstance {
    /// Registered name of its workflow.
    pub workflow_type: String,
    /// Digest of its arguments.
    pub input_digest: Vec<u8>,
    /// Its status.
    pub status: Status,
}

/// What a start does about the instance that it met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// It is used, nothing runs.
    UseExisting,
    /// A new instance is made.
    StartNew,
}

/// Decides what a start does about the instance that has its workflow id: the open one, else the one
/// that closed last.
///
/// # Errors
///
/// `AlreadyExists` by policy, for another type or for other arguments.
pub fn decide_start(start: &StartRun, existing: &ExistingInstance) -> ProviderResult<StartDecision> {
    let reuse = match start.policy {
        IdPolicy::UseExisting => true,
        IdPolicy::AllowAfterClose => existing.status.is_open(),
        IdPolicy::AllowAfterFailure => existing.status.is_open() || existing.status == Status::Completed,
        IdPolicy::Reject => {
            let message = format!(
                "workflow id {:?} already names a `{}` that is {}, and this start asks to be rejected then; \
                 choose another workflow id or another id policy",
                start.workflow_id.as_str(),
                existing.workflow_type,
                existing.status
            );
            return Err(ProviderError::new(ErrorKind::AlreadyExists, message));
        }
    };
    if !reuse {
        return Ok(StartDecision::StartNew);
    }
    let id = start.workflow_id.as_str();
    if existing.workflow_type != start.workflow_type {
        let message = format!(
            "workflow id {id:?} already names a `{}`, this start asks for a `{}`; choose another workflow id",
            existing.workflow_type, start.workflow_type
        );
        return Err(ProviderError::new(ErrorKind::AlreadyExists, message));
    }
    if existing.input_digest != start.input_digest {
        let message = format!(
            "workflow id {id:?} already names a `{}` with other arguments; \
             choose another workflow id, or start it with the arguments that it has",
            existing.workflow_type
        );
        return Err(ProviderError::new(ErrorKind::AlreadyExists, message));
    }
    Ok(StartDecision::UseExisting)
}

/// Checks one start before anything is written.
///
/// # Errors
///
/// `Invalid`.
pub fn check_start(start: &StartRun) -> ProviderResult<()> {
    check_type("workflow type", &start.workflow_type)?;
    check_priority(start.priority)?;
    check_rows(EventId::FIRST, std::slice::from_ref(&start.history)).map(drop)
}

/// Checks one commit before anything is written and returns the id that the event after it gets: of the next run, if
/// the commit continues the instance.
///
/// # Errors
///
/// `Invalid`: history rows that are not consecutive, a close with a status that ends no instance, a next run that is the
/// run itself or has no events, a bad name or priority.
pub fn check_commit(commit: &RunCommit) -> ProviderResult<EventId> {
    use super::workflow_store::ActivityChange;
    let next_run = check_end(commit)?;
    for change in &commit.activities {
        if let ActivityChange::Insert(row) = change {
            check_type("activity type", &row.activity_type)?;
            check_priority(row.priority)?;
        }
    }
    let next = check_rows(commit.expected_next, &commit.history)?;
    Ok(next_run.unwrap_or(next))
}

/// Checks how a commit ends its run; the next event of the run in which it continues.
fn check_end(commit: &RunCommit) -> ProviderResult<Option<EventId>> {
    use super::workflow_store::Disposition;
    let invalid = |message: String| Err(ProviderError::new(ErrorKind::Invalid, message));
    match &commit.disposition {
        Disposition::Close { status, .. } if status.is_open() => invalid(format!(
            "instance {} cannot be closed as {status}, which is an open status",
            commit.instance
        )),
        Disposition::Close { status: Status::ContinuedAsNew, .. } => invalid(format!(
            "instance {} cannot be closed as continued as new: that ends a run, and the instance goes on",
            commit.instance
        )),
        Disposition::Continue { next, .. } if next.run_id == commit.run_id => invalid(format!(
            "run {} cannot continue in itself; give the next run an id of its own",
            commit.run_id
        )),
        Disposition::Continue { next, .. } if next.history.is_empty() => invalid(format!(
            "run {} has no events to begin with; its history begins with its start",
            next.run_id
        )),
        Disposition::Continue { next, .. } => check_rows(EventId::FIRST, &next.history).map(Some),
        _ => Ok(None),
    }
}

/// Registered names travel as plain text: a backend may meet one that no attribute has seen.
fn check_type(what: &'static str, name: &str) -> ProviderResult<()> {
    check_name(what, name).map_err(|error| ProviderError::new(ErrorKind::Invalid, error.to_string()))
}

fn check_priority(priority: u8) -> ProviderResult<()> {
    if priority <= PRIORITY_MAX {
        return Ok(());
    }
    let message = format!("priority {priority} is not one of 0 (first) to {PRIORITY_MAX}");
    Err(ProviderError::new(ErrorKind::Invalid, message))
}

fn check_rows(mut expected: EventId, rows: &[EncodedBatch]) -> ProviderResult<EventId> {
    for row in rows {
        if row.first != expected || row.next <= row.first {
            let message = format!(
                "a history row claims events {} up to {} where {expected} comes next; rows must follow each other",
                row.first, row.next
            );
            return Err(ProviderError::new(ErrorKind::Invalid, message));
        }
        expected = row.next;
    }
    Ok(expected)
}

/// Checks that rows of a run's history follow each other from `expected`; returns what comes next.
///
/// # Errors
///
/// `Corrupt`, naming the gap or the overlap.
pub fn check_stored_rows(
    run: RunId,
    mut expected: EventId,
    rows: &[EncodedBatch],
) -> ProviderResult<EventId> {
    for row in rows {
        if row.first > expected {
            return Err(missing_events(run, expected, row.first));
        }
        if row.first < expected || row.next <= row.first {
            let message = format!(
                "the history of run {run} has a row of events {} up to {} where {expected} comes next; \
                 rows overlap: restore the database from a backup",
                row.first, row.next
            );
            return Err(ProviderError::new(ErrorKind::Corrupt, message));
        }
        expected = row.next;
    }
    Ok(expected)
}

/// The refusal of a history with a gap: events from `first` up to, not including, `until` are missing.
pub fn missing_events(run: RunId, first: EventId, until: EventId) -> ProviderError {
    let last = until.0.saturating_sub(1);
    let message = format!(
        "the history of run {run} lacks events {first} to {last}: a row is missing; restore the database from a backup"
    );
    ProviderError::new(ErrorKind::Corrupt, message)
}

/// The refusal of an owner's write to an instance whose guard does not hold.
pub fn instance_lease_lost(instance: InstanceId) -> ProviderError {
    let message = format!(
        "instance {instance} is no longer owned under this epoch, or its lease ran out; nothing was written: claim it again"
    );
    ProviderError::new(ErrorKind::LeaseLost, message)
}

/// The refusal of a write to an activity row whose guard does not hold.
pub fn activity_lease_lost(row: ActivityRowId) -> ProviderError {
    let message = format!(
        "activity row {row} is gone or no longer held under this epoch (cancelled, superseded, run closed or lease \
         run out); nothing was written: drop this attempt"
    );
    ProviderError::new(ErrorKind::LeaseLost, message)
}

/// The refusal of an instance that is not there.
pub fn unknown_instance(instance: InstanceId) -> ProviderError {
    let message = format!("there is no instance {instance}; it was deleted, or belongs to another database");
    ProviderError::new(ErrorKind::NotFound, message)
}

/// The refusal of a run that is not there.
pub fn unknown_run(run: RunId) -> ProviderError {
    let message = format!("there is no run {run}; it was deleted, or belongs to another database");
    ProviderError::new(ErrorKind::NotFound, message)
}

/// The refusal of a slot that a living worker holds.
pub fn slot_taken(slot: &str) -> ProviderError {
    let message = format!(
        "worker slot {slot:?} is held by a living worker; stop that one first, or give this one another slot name"
    );
    ProviderError::new(ErrorKind::AlreadyExists, message)
}

/// Cuts what a claim picked, in order: a suspect is taken alone, and everything else only up to the next one.
/// So the order holds, nobody starves, and nothing innocent is held while a suspect runs.
pub fn isolate<T>(picked: &mut Vec<T>, suspect: impl Fn(&T) -> bool) {
    let innocent = picked.iter().position(suspect).unwrap_or(picked.len());
    picked.truncate(innocent.max(1));
}

/// Why an instance was dead-lettered, for people.
pub fn dead_letter_reason(claims: u32) -> String {
    format!(
        "claimed {claims} times without a committed workflow task: its worker died or lost its lease each time; \
         find what kills it (memory, an abort, a stuck turn), then retry it"
    )
}
