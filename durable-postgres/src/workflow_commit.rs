//! Commits: the guarded heads of all runs with their history, then everything else that rides on them.

use std::collections::HashMap;

use durable_core::id::{EventId, InboxSeq};
use durable_core::provider::check::{check_commit, instance_lease_lost};
use durable_core::provider::{
    BlockChange, CommitBatch, CommitReceipt, Disposition, ProviderResult, RunCommit,
};
use durable_core::time::{Timestamp, micros};
use sqlx::postgres::PgConnection;
use sqlx::query_as;
use uuid::Uuid;

use crate::decode::{self, JOINED_MAX, stored, waves};
use crate::error::Attempt;
use crate::statements::Statements;
use crate::workflow_commit_riders::{has_riders, lock_activities, write_riders};

/// One commit that may be written, and the id that the event after it gets.
pub(crate) struct Member {
    pub(crate) commit: RunCommit,
    next_event: EventId,
}

/// The members of one call, and the answers that they have so far.
pub(crate) struct Flush {
    batch: CommitBatch,
    /// Each holds an instance once, in order of id.
    waves: Vec<Vec<(usize, Member)>>,
    answers: Vec<ProviderResult<CommitReceipt>>,
}

impl Flush {
    /// Answers what is refused before anything is written.
    pub(crate) fn of(mut batch: CommitBatch) -> Self {
        let commits = std::mem::take(&mut batch.commits);
        let mut answers: Vec<ProviderResult<CommitReceipt>> =
            commits.iter().map(|commit| Err(instance_lease_lost(commit.instance))).collect();
        let mut members = Vec::with_capacity(commits.len());
        for (place, commit) in commits.into_iter().enumerate() {
            match check_commit(&commit) {
                Ok(next_event) => members.push((place, Member { commit, next_event })),
                Err(refusal) => answers[place] = Err(refusal),
            }
        }
        let waves = waves(members, |(_, member)| member.commit.instance);
        let mut waves: Vec<Vec<_>> =
            waves.into_iter().map(|wave| wave.into_iter().map(|(_, member)| member).collect()).collect();
        for wave in &mut waves {
            wave.sort_by_key(|(_, member): &(usize, Member)| member.commit.instance);
        }
        Self { batch, waves, answers }
    }

    /// Whether one statement writes all of it, which is then a transaction of its own: one round trip.
    pub(crate) fn is_one_statement(&self) -> bool {
        match self.waves.as_slice() {
            [] => true,
            [wave] => wave.len() <= JOINED_MAX && !wave.iter().any(|(_, member)| has_riders(&member.commit)),
            _ => false,
        }
    }

    /// Commits every member; a refused one changes nothing and hurts no other, a constraint fails the batch.
    ///
    /// The first wave locks every instance, in order of id over all its statements; then come all activity rows in
    /// order of id (G10).
    pub(crate) async fn write(
        mut self,
        statements: &Statements,
        connection: &mut PgConnection,
    ) -> Attempt<Vec<ProviderResult<CommitReceipt>>> {
        let one_statement = self.is_one_statement();
        let waves = std::mem::take(&mut self.waves);
        for (number, wave) in waves.iter().enumerate() {
            let mut heads = HashMap::new();
            for part in wave.chunks(JOINED_MAX) {
                heads.extend(commit_heads(statements, &mut *connection, &self.batch, part).await?);
            }
            if number == 0 && !one_statement {
                let all = waves.iter().flatten().map(|(_, member)| &member.commit);
                lock_activities(statements, &mut *connection, all).await?;
            }
            self.answer(statements, &mut *connection, wave, &heads).await?;
        }
        Ok(self.answers)
    }

    async fn answer(
        &mut self,
        statements: &Statements,
        connection: &mut PgConnection,
        wave: &[(usize, Member)],
        heads: &HashMap<i64, (i16, i64, i64)>,
    ) -> Attempt<()> {
        let (mut committed, mut refused) = (Vec::new(), Vec::new());
        for (place, member) in wave {
            match heads.get(&member.commit.instance.0) {
                Some(&(status, inbox_seq, now)) => {
                    self.answers[*place] = Ok(receipt(now, stored(member.next_event.0), inbox_seq, status)?);
                    committed.push(&member.commit);
                }
                None => refused.push((*place, &member.commit)),
            }
        }
        write_riders(statements, &mut *connection, self.batch.now, &committed).await?;
        if refused.is_empty() {
            return Ok(());
        }
        find_receipts(statements, connection, self.batch.now, &refused, &mut self.answers).await
    }
}

fn receipt(now: i64, next_event: i64, inbox_seq: i64, status: i16) -> Attempt<CommitReceipt> {
    Ok(CommitReceipt {
        now: Timestamp::from_micros(now),
        next_event: decode::event_id(next_event)?,
        inbox_seq: InboxSeq(inbox_seq),
        status: decode::status(status)?,
    })
}

/// The columns of a member that depend on what becomes of its instance.
struct Ending<'a> {
    disposition: i16,
    wake_at: Option<i64>,
    retry_after: Option<i64>,
    status: Option<i16>,
    outcome: Option<&'a [u8]>,
    next_run: Option<Uuid>,
}

impl<'a> Ending<'a> {
    fn of(disposition: &'a Disposition) -> Self {
        let nothing = Self {
            disposition: 0,
            wake_at: None,
            retry_after: None,
            status: None,
            outcome: None,
            next_run: None,
        };
        match disposition {
            Disposition::Keep => nothing,
            Disposition::Wait { wake_at } => {
                Self { disposition: 1, wake_at: wake_at.map(Timestamp::as_micros), ..nothing }
            }
            Disposition::Yield => Self { disposition: 2, ..nothing },
            Disposition::Block { retry_after } => {
                Self { disposition: 3, retry_after: retry_after.map(micros), ..nothing }
            }
            Disposition::Close { status, outcome } => {
                Self { disposition: 4, status: Some(status.code()), outcome: Some(outcome), ..nothing }
            }
            Disposition::Continue { next, .. } => {
                Self { disposition: 2, next_run: Some(next.run_id.0), ..nothing }
            }
        }
    }
}

/// Kind, reason and build of a change to the blocked reason.
fn block_columns(block: &BlockChange) -> (i16, Option<&[u8]>, Option<&str>) {
    match block {
        BlockChange::Keep => (0, None, None),
        BlockChange::Set { reason, build } => (1, Some(reason.as_bytes()), Some(build.as_str())),
        BlockChange::Clear => (2, None, None),
    }
}

/// Locks, and writes the heads whose guards hold with their history: status, highest message, clock, by instance.
async fn commit_heads(
    statements: &Statements,
    connection: &mut PgConnection,
    batch: &CommitBatch,
    wave: &[(usize, Member)],
) -> Attempt<HashMap<i64, (i16, i64, i64)>> {
    let each = || wave.iter().map(|(_, member)| &member.commit);
    let blocks: Vec<_> = each().map(|commit| block_columns(&commit.block)).collect();
    let endings: Vec<_> = each().map(|commit| Ending::of(&commit.disposition)).collect();
    let rows = || each().flat_map(|commit| commit.history.iter().map(|row| (commit.instance.0, row)));
    let heads: Vec<(i64, i16, i64, i64)> = query_as(statements.workflow_commit.clone())
        .bind(batch.incarnation.0)
        .bind(batch.now.map(Timestamp::as_micros))
        .bind(micros(batch.lease))
        .bind(each().map(|commit| commit.instance.0).collect::<Vec<_>>())
        .bind(each().map(|commit| commit.epoch.0).collect::<Vec<_>>())
        .bind(each().map(|commit| stored(commit.expected_next.0)).collect::<Vec<_>>())
        .bind(each().map(|commit| commit.run_id.0).collect::<Vec<Uuid>>())
        .bind(each().map(|commit| commit.flush.0).collect::<Vec<Uuid>>())
        .bind(wave.iter().map(|(_, member)| stored(member.next_event.0)).collect::<Vec<_>>())
        .bind(each().map(|commit| commit.consumed_through.0).collect::<Vec<_>>())
        .bind(each().map(|commit| commit.progress).collect::<Vec<_>>())
        .bind(blocks.iter().map(|&(kind, ..)| kind).collect::<Vec<_>>())
        .bind(blocks.iter().map(|&(_, reason, _)| reason).collect::<Vec<_>>())
        .bind(blocks.iter().map(|&(_, _, build)| build).collect::<Vec<_>>())
        .bind(endings.iter().map(|ending| ending.disposition).collect::<Vec<_>>())
        .bind(endings.iter().map(|ending| ending.wake_at).collect::<Vec<_>>())
        .bind(endings.iter().map(|ending| ending.retry_after).collect::<Vec<_>>())
        .bind(endings.iter().map(|ending| ending.status).collect::<Vec<_>>())
        .bind(endings.iter().map(|ending| ending.outcome).collect::<Vec<_>>())
        .bind(rows().map(|(instance, _)| instance).collect::<Vec<_>>())
        .bind(rows().map(|(_, row)| stored(row.first.0)).collect::<Vec<_>>())
        .bind(rows().map(|(_, row)| stored(row.next.0)).collect::<Vec<_>>())
        .bind(rows().map(|(_, row)| row.bytes.as_ref()).collect::<Vec<&[u8]>>())
        .bind(endings.iter().map(|ending| ending.next_run).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(heads.into_iter().map(|(id, status, inbox_seq, now)| (id, (status, inbox_seq, now))).collect())
}

/// The guard did not hold: the commit was made before, or the run is no longer this owner's (G3).
async fn find_receipts(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
    refused: &[(usize, &RunCommit)],
    answers: &mut [ProviderResult<CommitReceipt>],
) -> Attempt<()> {
    let found: Vec<(i64, i16, i64, i64, i64)> = query_as(statements.workflow_commit_find.clone())
        .bind(refused.iter().map(|(_, commit)| commit.instance.0).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, commit)| commit.flush.0).collect::<Vec<Uuid>>())
        .bind(now.map(Timestamp::as_micros))
        .fetch_all(connection)
        .await?;
    let found: HashMap<i64, (i16, i64, i64, i64)> = found
        .into_iter()
        .map(|(id, status, inbox_seq, next, now)| (id, (status, inbox_seq, next, now)))
        .collect();
    for (place, commit) in refused {
        if let Some(&(status, inbox_seq, next_event, now)) = found.get(&commit.instance.0) {
            answers[*place] = Ok(receipt(now, next_event, inbox_seq, status)?);
        }
    }
    Ok(())
}
