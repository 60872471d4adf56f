//! Starts: one workflow id, one open instance, whoever races (G10).

use std::collections::{HashMap, HashSet};

use durable_core::id::{InstanceId, RunId};
use durable_core::provider::check::{ExistingInstance, StartDecision, check_start, decide_start};
use durable_core::provider::{ErrorKind, InstanceRef, ProviderError, ProviderResult, StartOutcome, StartRun};
use durable_core::time::Timestamp;
use sqlx::postgres::PgConnection;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::decode::{self, JOINED_MAX, stored};
use crate::error::Attempt;
use crate::statements::Statements;

/// Rounds of looking and inserting, before others have the workflow id that each round finds changed.
const ROUNDS: u32 = 5;

/// The starts of one call; each gets its own answer.
struct Call<'a> {
    statements: &'a Statements,
    connection: &'a mut PgConnection,
    starts: Vec<StartRun>,
    answers: Vec<Option<ProviderResult<StartOutcome>>>,
}

/// Answers every start; a refused one hurts no other.
///
/// Each round looks what is there, inserts what is new, and looks again without its own rows: an instance may
/// have been started and closed between the two. What met another's insert goes into the next round.
pub(crate) async fn start_all(
    statements: &Statements,
    connection: &mut PgConnection,
    starts: Vec<StartRun>,
) -> Attempt<Vec<ProviderResult<StartOutcome>>> {
    let answers = starts.iter().map(|start| check_start(start).err().map(Err)).collect();
    let mut call = Call { statements, connection, starts, answers };
    for _ in 0..ROUNDS {
        let open: Vec<usize> =
            (0..call.starts.len()).filter(|&place| call.answers[place].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let new = call.answer_from_what_is_there(open).await?;
        let made = call.insert(&new).await?;
        call.answer_from_what_was_made(made).await?;
    }
    let contended = || {
        let message =
            "workflow ids were started and closed again and again meanwhile; the start is made again";
        Err(ProviderError::new(ErrorKind::Conflict, message))
    };
    Ok(call.answers.into_iter().map(|answer| answer.unwrap_or_else(contended)).collect())
}

/// The instance that a start met.
struct Met {
    reference: InstanceRef,
    instance: ExistingInstance,
}

impl Call<'_> {
    /// Answers what needs no insert; returns the others.
    async fn answer_from_what_is_there(&mut self, open: Vec<usize>) -> Attempt<Vec<usize>> {
        let met = self.existing(&open, &[]).await?;
        let requests = if met.is_empty() { HashMap::new() } else { self.requests(&open).await? };
        let mut new = Vec::new();
        for place in open {
            let start = &self.starts[place];
            let repeated = requests.get(&start.request_id.0).copied();
            let answer = match (repeated, met.get(&place)) {
                (Some(reference), _) => Some(Ok(StartOutcome::Started(reference))),
                (None, Some(met)) => decided(start, met),
                (None, None) => None,
            };
            if answer.is_none() {
                new.push(place);
            }
            self.answers[place] = answer;
        }
        Ok(new)
    }

    /// Inserts instances and returns those that met no other, with their places.
    async fn insert(&mut self, new: &[usize]) -> Attempt<Vec<(usize, i64)>> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let each = || new.iter().map(|&place| &self.starts[place]);
        let made: Vec<(i64, Uuid)> = query_as(self.statements.workflow_start_instance.clone())
            .bind(each().map(|start| start.workflow_id.as_str()).collect::<Vec<_>>())
            .bind(each().map(|start| start.workflow_type.as_str()).collect::<Vec<_>>())
            .bind(each().map(|start| &start.input_digest[..]).collect::<Vec<_>>())
            .bind(each().map(|start| start.request_id.0).collect::<Vec<_>>())
            .bind(each().map(|start| start.run_id.0).collect::<Vec<_>>())
            .bind(each().map(|start| start.queue.as_str()).collect::<Vec<_>>())
            .bind(each().map(|start| i16::from(start.priority)).collect::<Vec<_>>())
            .bind(each().map(|start| stored(start.history.next.0)).collect::<Vec<_>>())
            .bind(each().map(|start| start.now.map(Timestamp::as_micros)).collect::<Vec<_>>())
            .fetch_all(&mut *self.connection)
            .await?;
        let mut ids: HashMap<Uuid, i64> = made.into_iter().map(|(id, request)| (request, id)).collect();
        // The first of two with one request id made it; the other finds it in the next round.
        let placed =
            new.iter().filter_map(|&place| Some((place, ids.remove(&self.starts[place].request_id.0)?)));
        Ok(placed.collect())
    }

    /// Keeps what was rightly made, with its run and its first event, and takes the rest back.
    async fn answer_from_what_was_made(&mut self, made: Vec<(usize, i64)>) -> Attempt<()> {
        if made.is_empty() {
            return Ok(());
        }
        let (places, ids): (Vec<usize>, Vec<i64>) = made.iter().copied().unzip();
        let met = self.existing(&places, &ids).await?;
        let (mut kept, mut withdrawn) = (Vec::new(), Vec::new());
        for (place, id) in made {
            let start = &self.starts[place];
            let answer = met.get(&place).and_then(|met| decided(start, met));
            if answer.is_some() {
                withdrawn.push(id);
                self.answers[place] = answer;
            } else {
                let reference = InstanceRef { instance: InstanceId(id), run_id: start.run_id };
                self.answers[place] = Some(Ok(StartOutcome::Started(reference)));
                kept.push((place, id));
            }
        }
        if !withdrawn.is_empty() {
            query(self.statements.workflow_start_withdraw.clone())
                .bind(withdrawn)
                .execute(&mut *self.connection)
                .await?;
        }
        for part in kept.chunks(JOINED_MAX) {
            self.insert_runs(part).await?;
        }
        Ok(())
    }

    async fn insert_runs(&mut self, kept: &[(usize, i64)]) -> Attempt<()> {
        let each = || kept.iter().map(|&(place, id)| (&self.starts[place], id));
        query(self.statements.workflow_start_run.clone())
            .bind(each().map(|(start, _)| start.run_id.0).collect::<Vec<_>>())
            .bind(each().map(|(_, id)| id).collect::<Vec<_>>())
            .bind(each().map(|(start, _)| start.seed.0).collect::<Vec<_>>())
            .execute(&mut *self.connection)
            .await?;
        query(self.statements.history_insert.clone())
            .bind(each().map(|(_, id)| id).collect::<Vec<_>>())
            .bind(each().map(|(start, _)| start.run_id.0).collect::<Vec<_>>())
            .bind(each().map(|(start, _)| stored(start.history.first.0)).collect::<Vec<_>>())
            .bind(each().map(|(start, _)| stored(start.history.next.0)).collect::<Vec<_>>())
            .bind(each().map(|(start, _)| start.history.bytes.as_ref()).collect::<Vec<&[u8]>>())
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    /// What each start meets under its workflow id, but for the instances `own`.
    async fn existing(&mut self, places: &[usize], own: &[i64]) -> Attempt<HashMap<usize, Met>> {
        let ids: Vec<&str> = places.iter().map(|&place| self.starts[place].workflow_id.as_str()).collect();
        let rows: Vec<(i64, i64, Uuid, String, Vec<u8>, i16)> =
            query_as(self.statements.workflow_start_existing.clone())
                .bind(ids)
                .bind(own)
                .fetch_all(&mut *self.connection)
                .await?;
        let mut met = HashMap::new();
        for (number, id, run, workflow_type, input_digest, status) in rows {
            let reference = InstanceRef { instance: InstanceId(id), run_id: RunId(run) };
            let instance = ExistingInstance { workflow_type, input_digest, status: decode::status(status)? };
            let place = usize::try_from(number - 1).ok().and_then(|index| places.get(index));
            if let Some(&place) = place {
                met.insert(place, Met { reference, instance });
            }
        }
        Ok(met)
    }

    /// What earlier tries of the same requests started.
    async fn requests(&mut self, places: &[usize]) -> Attempt<HashMap<Uuid, InstanceRef>> {
        let ids: HashSet<Uuid> = places.iter().map(|&place| self.starts[place].request_id.0).collect();
        let rows: Vec<(Uuid, i64, Uuid)> = query_as(self.statements.workflow_start_request.clone())
            .bind(ids.into_iter().collect::<Vec<_>>())
            .fetch_all(&mut *self.connection)
            .await?;
        let found = rows.into_iter().map(|(request, id, run)| {
            (request, InstanceRef { instance: InstanceId(id), run_id: RunId(run) })
        });
        Ok(found.collect())
    }
}

/// The answer to a start that met an instance; `None` if it makes a new one.
fn decided(start: &StartRun, met: &Met) -> Option<ProviderResult<StartOutcome>> {
    match decide_start(start, &met.instance) {
        Ok(StartDecision::StartNew) => None,
        Ok(StartDecision::UseExisting) => Some(Ok(StartOutcome::Existing(met.reference))),
        Err(refusal) => Some(Err(refusal)),
    }
}
