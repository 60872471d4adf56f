//! Commits: the guard first, then everything that rides on it.

use std::collections::HashSet;

use durable_core::id::{CommandId, Epoch, EventId, Incarnation, InstanceId, RunId};
use durable_core::provider::check::{check_commit, instance_lease_lost};
use durable_core::provider::{
    ActivityChange, BlockChange, CommitBatch, CommitReceipt, Disposition, ErrorKind, NewActivityRow,
    ProviderError, ProviderResult, RunCommit, Status,
};
use durable_core::time::Timestamp;

use super::database_now;
use super::state::{Activity, Claim, Instance, State};

/// What the members of one batch share.
#[derive(Debug, Clone, Copy)]
struct Flush {
    owner: Incarnation,
    now: Timestamp,
    lease_end: Timestamp,
}

/// Commits every member; a refused one changes nothing and hurts no other, a constraint fails the batch
/// before anything is written.
pub(super) fn commit_batch(
    state: &mut State,
    batch: CommitBatch,
) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
    let now = database_now(batch.now);
    let flush = Flush { owner: batch.incarnation, now, lease_end: now.plus(batch.lease) };
    let mut begun = HashSet::new();
    for commit in &batch.commits {
        if check_commit(commit).is_ok() && guard(state, commit, flush) {
            check_activities(state, commit)?;
            check_next_run(state, commit, &mut begun)?;
        }
    }
    Ok(batch.commits.into_iter().map(|commit| commit_one(state, commit, flush)).collect())
}

fn guard(state: &State, commit: &RunCommit, flush: Flush) -> bool {
    state.instances.get(&commit.instance.0).is_some_and(|instance| {
        instance.status == Status::Executing
            && instance.claim.is_some_and(|claim| claim.holds(flush.owner, flush.now))
            && instance.epoch == commit.epoch
            && instance.next_event == commit.expected_next
            // A commit without events leaves the next event as it was: repeated, it has to find itself.
            && instance.last_flush != Some(commit.flush)
            && instance.run_id == commit.run_id
    })
}

/// A run begins once.
fn check_next_run(state: &State, commit: &RunCommit, begun: &mut HashSet<RunId>) -> ProviderResult<()> {
    let Disposition::Continue { next, .. } = &commit.disposition else { return Ok(()) };
    if !state.knows(next.run_id) && begun.insert(next.run_id) {
        return Ok(());
    }
    let message = format!("there is a run {} already", next.run_id);
    Err(ProviderError::new(ErrorKind::Conflict, message))
}

/// A command has at most one row.
fn check_activities(state: &State, commit: &RunCommit) -> ProviderResult<()> {
    if matches!(commit.disposition, Disposition::Close { .. } | Disposition::Continue { .. }) {
        return Ok(());
    }
    let mut commands: HashSet<CommandId> = state
        .activities
        .values()
        .filter(|activity| activity.run_id == commit.run_id)
        .map(|activity| activity.command)
        .collect();
    for change in &commit.activities {
        match change {
            ActivityChange::Remove(command) => {
                commands.remove(command);
            }
            ActivityChange::Insert(row) if !commands.insert(row.command) => {
                let message =
                    format!("command {} of run {} has an activity row already", row.command, commit.run_id);
                return Err(ProviderError::new(ErrorKind::Conflict, message));
            }
            ActivityChange::Insert(_) => {}
        }
    }
    Ok(())
}

fn commit_one(state: &mut State, commit: RunCommit, flush: Flush) -> ProviderResult<CommitReceipt> {
    let next_event = check_commit(&commit)?;
    let holds = guard(state, &commit, flush);
    let Some(instance) = state.instances.get_mut(&commit.instance.0) else {
        return Err(instance_lease_lost(commit.instance));
    };
    if !holds {
        // A retry after a lost answer finds itself; anything else is not this owner's any more (G3).
        return if instance.last_flush == Some(commit.flush) {
            Ok(receipt(instance, flush.now))
        } else {
            Err(instance_lease_lost(commit.instance))
        };
    }
    write_turn(instance, &commit, next_event);
    dispose(instance, &commit.disposition, flush);
    let answer = receipt(instance, flush.now);
    match &commit.disposition {
        Disposition::Close { .. } => {
            instance.inbox.clear();
            instance.dedup.clear();
            state.activities.retain(|_, activity| activity.instance != commit.instance);
        }
        Disposition::Continue { next, .. } => {
            let end = commit.history.last().map_or(commit.expected_next, |row| row.next);
            instance.go_on(next, end);
            state.activities.retain(|_, activity| activity.instance != commit.instance);
        }
        _ => change_activities(state, commit, flush.now),
    }
    Ok(answer)
}

fn receipt(instance: &Instance, now: Timestamp) -> CommitReceipt {
    CommitReceipt {
        now,
        next_event: instance.next_event,
        inbox_seq: instance.inbox_seq,
        status: instance.status,
    }
}

fn write_turn(instance: &mut Instance, commit: &RunCommit, next_event: EventId) {
    instance.history.extend(commit.history.iter().cloned());
    instance.next_event = next_event;
    instance.last_flush = Some(commit.flush);
    instance.inbox_seen = instance.inbox_seen.max(commit.consumed_through);
    instance.inbox.retain(|message| message.seq > commit.consumed_through);
    instance.owner_lost = false;
    match &commit.block {
        BlockChange::Keep => {}
        BlockChange::Set { reason, build } => {
            instance.blocked = Some((reason.clone(), build.clone()));
            instance.blocked_attempts += 1;
            // A reported failure burns no claim (G8).
            instance.claims_without_progress = instance.claims_without_progress.saturating_sub(1);
        }
        BlockChange::Clear => {
            instance.blocked = None;
            instance.blocked_attempts = 0;
        }
    }
    if commit.progress {
        instance.claims_without_progress = 0;
    }
}

fn dispose(instance: &mut Instance, disposition: &Disposition, flush: Flush) {
    match disposition {
        Disposition::Keep => {
            instance.wake_at = None;
            instance.claim = instance
                .claim
                .map(|claim| Claim { expires_at: claim.expires_at.max(flush.lease_end), ..claim });
        }
        Disposition::Wait { wake_at: Some(due) } if *due <= flush.now => instance.make_runnable(*due),
        Disposition::Wait { .. } if has_unread(instance) => instance.make_runnable(flush.now),
        Disposition::Wait { wake_at } => {
            instance.make_runnable(flush.now);
            instance.status = Status::Waiting;
            instance.wake_at = *wake_at;
        }
        Disposition::Yield | Disposition::Continue { .. } => instance.make_runnable(flush.now),
        Disposition::Block { retry_after } => {
            instance.claim = None;
            instance.status = Status::Blocked;
            instance.wake_at = retry_after.map(|delay| flush.now.plus(delay));
        }
        Disposition::Close { status, outcome } => {
            instance.claim = None;
            instance.wake_at = None;
            instance.status = *status;
            instance.outcome = Some(outcome.clone());
            instance.closed_at = Some(flush.now);
        }
    }
}

fn has_unread(instance: &Instance) -> bool {
    instance.inbox_seq > instance.inbox_seen
}

fn change_activities(state: &mut State, commit: RunCommit, now: Timestamp) {
    let (instance, run_id) = (commit.instance, commit.run_id);
    for change in commit.activities {
        match change {
            ActivityChange::Insert(row) => {
                state.last_activity += 1;
                let activity = new_activity(row, instance, run_id, now);
                state.activities.insert(state.last_activity, activity);
            }
            ActivityChange::Remove(command) => {
                state
                    .activities
                    .retain(|_, activity| activity.run_id != run_id || activity.command != command);
            }
        }
    }
}

fn new_activity(row: NewActivityRow, instance: InstanceId, run_id: RunId, now: Timestamp) -> Activity {
    Activity {
        instance,
        run_id,
        command: row.command,
        activity_type: row.activity_type,
        queue: row.queue,
        priority: row.priority,
        eligible_at: now.plus(row.delay),
        claim: None,
        epoch: Epoch(0),
        attempts: row.attempts,
        lost: row.lost,
        backoff_due: false,
        deadline: row.deadline,
        task: row.task,
        last_failure: row.last_failure,
    }
}
