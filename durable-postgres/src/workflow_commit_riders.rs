//! What rides on the committed heads of a flush beside their history: used-up messages, activity rows, ends of runs.
//! Each kind is one statement for the whole flush.

use durable_core::id::{CommandId, InboxSeq};
use durable_core::provider::{
    ActivityChange, Disposition, ErrorKind, NewActivityRow, NextRunStart, ProviderError, RunCommit, Status,
};
use durable_core::time::{Timestamp, micros};
use sqlx::postgres::PgConnection;
use sqlx::query;
use uuid::Uuid;

use crate::decode::{count, stored};
use crate::error::Attempt;
use crate::statements::Statements;

/// What a commit does to activity rows, in the order that has the same effect: removals, then inserts.
struct Changes<'a> {
    removed: Vec<CommandId>,
    inserted: Vec<&'a NewActivityRow>,
}

impl<'a> Changes<'a> {
    /// A row that is made and removed in one commit was never there.
    fn of(commit: &'a RunCommit) -> Self {
        let mut changes = Self { removed: Vec::new(), inserted: Vec::new() };
        for change in &commit.activities {
            match change {
                ActivityChange::Insert(row) => changes.inserted.push(row),
                ActivityChange::Remove(command) => {
                    changes.inserted.retain(|row| row.command != *command);
                    changes.removed.push(*command);
                }
            }
        }
        changes
    }
}

/// Whether the commit has riders beside its history.
pub(crate) fn has_riders(commit: &RunCommit) -> bool {
    ends(commit) || !commit.activities.is_empty() || commit.consumed_through > InboxSeq(0)
}

/// Whether the run is over, with its instance or without.
fn ends(commit: &RunCommit) -> bool {
    matches!(commit.disposition, Disposition::Close { .. } | Disposition::Continue { .. })
}

fn closes(commit: &RunCommit) -> bool {
    matches!(commit.disposition, Disposition::Close { .. })
}

/// Locks the activity rows that a flush may remove, in order of id; the instances are locked already (G10).
pub(crate) async fn lock_activities<'a>(
    statements: &Statements,
    connection: &mut PgConnection,
    commits: impl Iterator<Item = &'a RunCommit>,
) -> Attempt<()> {
    let (mut ending, mut runs, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for commit in commits {
        if ends(commit) {
            ending.push(commit.instance.0);
            continue;
        }
        for change in &commit.activities {
            if let ActivityChange::Remove(command) = change {
                runs.push(commit.run_id.0);
                commands.push(stored(command.0));
            }
        }
    }
    if ending.is_empty() && runs.is_empty() {
        return Ok(());
    }
    query(statements.workflow_commit_lock_activities.clone())
        .bind(ending)
        .bind(runs)
        .bind(commands)
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes everything that rides on heads which were committed in this transaction.
pub(crate) async fn write_riders(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    commits: &[&RunCommit],
) -> Attempt<()> {
    let (closing, open): (Vec<&RunCommit>, Vec<&RunCommit>) =
        commits.iter().partition(|commit| closes(commit));
    let (ending, staying): (Vec<&RunCommit>, Vec<&RunCommit>) =
        commits.iter().partition(|commit| ends(commit));
    consume(statements, &mut *connection, &open).await?;
    change_activities(statements, &mut *connection, now, &staying).await?;
    end_runs(statements, &mut *connection, now, &ending).await?;
    close(statements, &mut *connection, &closing).await?;
    go_on(statements, connection, now, &ending).await
}

/// A rider without its head would be work that nobody committed.
fn all_ride(written: u64, sent: usize) -> Attempt<()> {
    if written == sent as u64 {
        return Ok(());
    }
    let message =
        format!("{written} of {sent} rows found the commit that they belong to; nothing was written");
    Err(ProviderError::new(ErrorKind::Conflict, message).into())
}

async fn consume(
    statements: &Statements,
    connection: &mut PgConnection,
    commits: &[&RunCommit],
) -> Attempt<()> {
    let each = || commits.iter().filter(|commit| commit.consumed_through > InboxSeq(0));
    if each().next().is_none() {
        return Ok(());
    }
    query(statements.workflow_commit_inbox.clone())
        .bind(each().map(|commit| commit.instance.0).collect::<Vec<_>>())
        .bind(each().map(|commit| commit.flush.0).collect::<Vec<Uuid>>())
        .bind(each().map(|commit| commit.consumed_through.0).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

async fn change_activities(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    commits: &[&RunCommit],
) -> Attempt<()> {
    let (mut runs, mut commands, mut inserted) = (Vec::new(), Vec::new(), Vec::new());
    for commit in commits {
        let changes = Changes::of(commit);
        for command in changes.removed {
            runs.push(commit.run_id.0);
            commands.push(stored(command.0));
        }
        inserted.extend(changes.inserted.into_iter().map(|row| (*commit, row)));
    }
    if !runs.is_empty() {
        query(statements.activity_remove.clone()).bind(runs).bind(commands).execute(&mut *connection).await?;
    }
    if inserted.is_empty() {
        return Ok(());
    }
    insert_activities(statements, connection, now, &inserted).await
}

async fn insert_activities(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    inserted: &[(&RunCommit, &NewActivityRow)],
) -> Attempt<()> {
    let rows = || inserted.iter().map(|&(_, row)| row);
    let done = query(statements.activity_insert.clone())
        .bind(now.map(Timestamp::as_micros))
        .bind(inserted.iter().map(|(commit, _)| commit.instance.0).collect::<Vec<_>>())
        .bind(inserted.iter().map(|(commit, _)| commit.flush.0).collect::<Vec<Uuid>>())
        .bind(rows().map(|row| stored(row.command.0)).collect::<Vec<_>>())
        .bind(rows().map(|row| row.activity_type.as_str()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.queue.as_str()).collect::<Vec<_>>())
        .bind(rows().map(|row| i16::from(row.priority)).collect::<Vec<_>>())
        .bind(rows().map(|row| micros(row.delay)).collect::<Vec<_>>())
        .bind(rows().map(|row| count(row.attempts)).collect::<Vec<_>>())
        .bind(rows().map(|row| count(row.lost)).collect::<Vec<_>>())
        .bind(rows().map(|row| row.deadline.map(Timestamp::as_micros)).collect::<Vec<_>>())
        .bind(rows().map(|row| row.task.as_ref()).collect::<Vec<&[u8]>>())
        .bind(rows().map(|row| row.last_failure.as_deref()).collect::<Vec<Option<&[u8]>>>())
        .execute(connection)
        .await?;
    all_ride(done.rows_affected(), inserted.len())
}

/// Ends runs, and removes the activity rows of their instances.
async fn end_runs(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    commits: &[&RunCommit],
) -> Attempt<()> {
    let (mut runs, mut statuses, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for commit in commits {
        let (status, outcome) = match &commit.disposition {
            Disposition::Close { status, outcome } => (*status, outcome),
            Disposition::Continue { outcome, .. } => (Status::ContinuedAsNew, outcome),
            _ => continue,
        };
        runs.push(commit.run_id.0);
        statuses.push(status.code());
        outcomes.push(outcome.as_ref());
    }
    if runs.is_empty() {
        return Ok(());
    }
    query(statements.workflow_close_run.clone())
        .bind(now.map(Timestamp::as_micros))
        .bind(runs)
        .bind(statuses)
        .bind(outcomes)
        .execute(&mut *connection)
        .await?;
    let ids: Vec<i64> = commits.iter().map(|commit| commit.instance.0).collect();
    query(statements.workflow_close_activities.clone()).bind(ids).execute(connection).await?;
    Ok(())
}

/// Removes the messages and dedup keys of instances that are over.
async fn close(
    statements: &Statements,
    connection: &mut PgConnection,
    commits: &[&RunCommit],
) -> Attempt<()> {
    if commits.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = commits.iter().map(|commit| commit.instance.0).collect();
    for text in [&statements.workflow_close_inbox, &statements.workflow_close_dedup] {
        query(text.clone()).bind(&ids).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Begins the runs in which instances go on, with their history.
async fn go_on(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    commits: &[&RunCommit],
) -> Attempt<()> {
    let next: Vec<(i64, &NextRunStart)> = commits
        .iter()
        .filter_map(|commit| match &commit.disposition {
            Disposition::Continue { next, .. } => Some((commit.instance.0, next)),
            _ => None,
        })
        .collect();
    if next.is_empty() {
        return Ok(());
    }
    let begun = query(statements.workflow_continue_run.clone())
        .bind(now.map(Timestamp::as_micros))
        .bind(next.iter().map(|&(instance, _)| instance).collect::<Vec<_>>())
        .bind(next.iter().map(|(_, next)| next.run_id.0).collect::<Vec<Uuid>>())
        .bind(next.iter().map(|(_, next)| next.seed.0).collect::<Vec<Uuid>>())
        .execute(&mut *connection)
        .await?;
    all_ride(begun.rows_affected(), next.len())?;
    let rows = || next.iter().flat_map(|&(id, next)| next.history.iter().map(move |row| (id, next, row)));
    let written = query(statements.history_insert.clone())
        .bind(rows().map(|(instance, ..)| instance).collect::<Vec<_>>())
        .bind(rows().map(|(_, next, _)| next.run_id.0).collect::<Vec<Uuid>>())
        .bind(rows().map(|(.., row)| stored(row.first.0)).collect::<Vec<_>>())
        .bind(rows().map(|(.., row)| stored(row.next.0)).collect::<Vec<_>>())
        .bind(rows().map(|(.., row)| row.bytes.as_ref()).collect::<Vec<&[u8]>>())
        .execute(connection)
        .await?;
    all_ride(written.rows_affected(), rows().count())
}
