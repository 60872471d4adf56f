//! Commits: a guarded head per run, everything else rides on it.

use durable_core::history::EncodedBatch;
use durable_core::id::{EventId, InboxSeq, Incarnation, InstanceId, RunId};
use durable_core::provider::check::{check_commit, instance_lease_lost};
use durable_core::provider::{
    ActivityChange, BlockChange, CommitBatch, CommitReceipt, Disposition, NewActivityRow, NextRunStart,
    ProviderResult, RunCommit, Status,
};
use durable_core::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_as};

use crate::connection::WriteTransaction;
use crate::decode::{self, build_text, stored, uuid_bytes};
use crate::error::{Attempt, Failure};
use crate::sql;

/// What the statements of one commit share.
struct Turn<'a> {
    connection: &'a mut SqliteConnection,
    incarnation: Incarnation,
    now: Timestamp,
    lease_end: Timestamp,
}

/// Commits every member; a refused one changes nothing and hurts no other, a constraint fails the batch.
pub(crate) async fn commit_batch(
    transaction: &mut WriteTransaction,
    batch: CommitBatch,
) -> Attempt<Vec<ProviderResult<CommitReceipt>>> {
    let now = transaction.now;
    let mut turn = Turn {
        connection: transaction.connection(),
        incarnation: batch.incarnation,
        now,
        lease_end: now.plus(batch.lease),
    };
    let mut receipts = Vec::with_capacity(batch.commits.len());
    for commit in batch.commits {
        match commit_one(&mut turn, commit).await {
            Ok(receipt) => receipts.push(Ok(receipt)),
            Err(Failure::Refused(error)) => receipts.push(Err(error)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(receipts)
}

async fn commit_one(turn: &mut Turn<'_>, commit: RunCommit) -> Attempt<CommitReceipt> {
    let next_event = check_commit(&commit)?;
    let Some((status, inbox_seq)) = commit_head(turn, &commit, next_event).await? else {
        return find_receipt(turn, &commit).await;
    };
    insert_history(turn, commit.run_id, &commit.history).await?;
    match &commit.disposition {
        Disposition::Close { status, outcome } => {
            end_run(turn, &commit, *status, outcome).await?;
            for statement in [
                sql!("workflow_close_inbox"),
                sql!("workflow_close_dedup"),
                sql!("workflow_close_activities"),
            ] {
                query(statement).bind(commit.instance.0).execute(&mut *turn.connection).await?;
            }
        }
        Disposition::Continue { outcome, next } => {
            end_run(turn, &commit, Status::ContinuedAsNew, outcome).await?;
            consume(turn, &commit).await?;
            query(sql!("workflow_close_activities"))
                .bind(commit.instance.0)
                .execute(&mut *turn.connection)
                .await?;
            go_on(turn, commit.instance, next).await?;
        }
        _ => {
            consume(turn, &commit).await?;
            change_activities(turn, &commit).await?;
        }
    }
    Ok(CommitReceipt {
        now: turn.now,
        next_event,
        inbox_seq: InboxSeq(inbox_seq),
        status: decode::status(status)?,
    })
}

async fn insert_history(turn: &mut Turn<'_>, run: RunId, rows: &[EncodedBatch]) -> Attempt<()> {
    let run = uuid_bytes(run.0);
    for row in rows {
        query(sql!("history_insert"))
            .bind(run.clone())
            .bind(stored(row.first.0))
            .bind(stored(row.next.0))
            .bind(row.bytes.to_vec())
            .execute(&mut *turn.connection)
            .await?;
    }
    Ok(())
}

/// Removes the messages that became history.
async fn consume(turn: &mut Turn<'_>, commit: &RunCommit) -> Attempt<()> {
    if commit.consumed_through > InboxSeq(0) {
        query(sql!("workflow_commit_inbox"))
            .bind(commit.instance.0)
            .bind(commit.consumed_through.0)
            .execute(&mut *turn.connection)
            .await?;
    }
    Ok(())
}

/// Begins the run in which the instance goes on; the head has numbered it.
async fn go_on(turn: &mut Turn<'_>, instance: InstanceId, next: &NextRunStart) -> Attempt<()> {
    query(sql!("workflow_continue_run"))
        .bind(instance.0)
        .bind(uuid_bytes(next.run_id.0))
        .bind(uuid_bytes(next.seed.0))
        .bind(turn.now.as_micros())
        .execute(&mut *turn.connection)
        .await?;
    insert_history(turn, next.run_id, &next.history).await
}

async fn commit_head(
    turn: &mut Turn<'_>,
    commit: &RunCommit,
    next_event: EventId,
) -> Attempt<Option<(i64, i64)>> {
    let (block, reason, build) = match &commit.block {
        BlockChange::Keep => (0, None, None),
        BlockChange::Set { reason, build } => (1, Some(reason.clone().into_bytes()), Some(build_text(build))),
        BlockChange::Clear => (2, None, None),
    };
    let mut wake_at = None;
    let (mut closed, mut next_run) = (None, None);
    let disposition = match &commit.disposition {
        Disposition::Keep => 0,
        Disposition::Wait { wake_at: at } => {
            wake_at = at.map(Timestamp::as_micros);
            1
        }
        Disposition::Yield => 2,
        Disposition::Block { retry_after } => {
            wake_at = retry_after.map(|delay| turn.now.plus(delay).as_micros());
            3
        }
        Disposition::Close { status, outcome } => {
            closed = Some((i64::from(status.code()), outcome.to_vec()));
            4
        }
        Disposition::Continue { next, .. } => {
            next_run = Some(uuid_bytes(next.run_id.0));
            2
        }
    };
    let (close_status, outcome) = closed.unzip();
    let head = query_as(sql!("workflow_commit"))
        .bind(commit.instance.0)
        .bind(uuid_bytes(turn.incarnation.0))
        .bind(commit.epoch.0)
        .bind(stored(commit.expected_next.0))
        .bind(turn.now.as_micros())
        .bind(uuid_bytes(commit.run_id.0))
        .bind(stored(next_event.0))
        .bind(uuid_bytes(commit.flush.0))
        .bind(commit.consumed_through.0)
        .bind(commit.progress)
        .bind(block)
        .bind(reason)
        .bind(build)
        .bind(disposition)
        .bind(turn.lease_end.as_micros())
        .bind(wake_at)
        .bind(close_status)
        .bind(outcome)
        .bind(next_run)
        .fetch_optional(&mut *turn.connection)
        .await?;
    Ok(head)
}

/// The guard did not hold: the commit was made before, or the run is no longer this owner's (G3).
async fn find_receipt(turn: &mut Turn<'_>, commit: &RunCommit) -> Attempt<CommitReceipt> {
    let found: Option<(i64, i64, i64)> = query_as(sql!("workflow_commit_find"))
        .bind(commit.instance.0)
        .bind(uuid_bytes(commit.flush.0))
        .fetch_optional(&mut *turn.connection)
        .await?;
    let Some((status, inbox_seq, next_event)) = found else {
        return Err(instance_lease_lost(commit.instance).into());
    };
    Ok(CommitReceipt {
        now: turn.now,
        next_event: decode::event_id(next_event)?,
        inbox_seq: InboxSeq(inbox_seq),
        status: decode::status(status)?,
    })
}

async fn change_activities(turn: &mut Turn<'_>, commit: &RunCommit) -> Attempt<()> {
    for change in &commit.activities {
        match change {
            ActivityChange::Insert(row) => insert_activity(turn, commit, row).await?,
            ActivityChange::Remove(command) => {
                query(sql!("activity_remove"))
                    .bind(uuid_bytes(commit.run_id.0))
                    .bind(stored(command.0))
                    .execute(&mut *turn.connection)
                    .await?;
            }
        }
    }
    Ok(())
}

async fn insert_activity(turn: &mut Turn<'_>, commit: &RunCommit, row: &NewActivityRow) -> Attempt<()> {
    query(sql!("activity_insert"))
        .bind(commit.instance.0)
        .bind(uuid_bytes(commit.run_id.0))
        .bind(stored(row.command.0))
        .bind(row.activity_type.clone())
        .bind(row.queue.as_str())
        .bind(i64::from(row.priority))
        .bind(turn.now.plus(row.delay).as_micros())
        .bind(i64::from(row.attempts))
        .bind(i64::from(row.lost))
        .bind(row.deadline.map(Timestamp::as_micros))
        .bind(row.task.to_vec())
        .bind(row.last_failure.as_ref().map(|failure| failure.to_vec()))
        .bind(turn.now.as_micros())
        .execute(&mut *turn.connection)
        .await?;
    Ok(())
}

/// The run is over; what becomes of its instance is another matter.
async fn end_run(turn: &mut Turn<'_>, commit: &RunCommit, status: Status, outcome: &[u8]) -> Attempt<()> {
    query(sql!("workflow_close_run"))
        .bind(uuid_bytes(commit.run_id.0))
        .bind(i64::from(status.code()))
        .bind(outcome.to_vec())
        .bind(turn.now.as_micros())
        .execute(&mut *turn.connection)
        .await?;
    Ok(())
}
