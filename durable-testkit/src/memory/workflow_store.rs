//! Runs: start and claim; `workflow_commit` has the commits.

use async_trait::async_trait;
use durable_core::id::{ActivityRowId, Epoch, InboxSeq, InstanceId};
use durable_core::limits::CLAIM_HISTORY_BYTES;
use durable_core::provider::check::{
    ExistingInstance, StartDecision, check_start, dead_letter_reason, decide_start, isolate,
};
use durable_core::provider::{
    Claimed, ClaimedRun, CommitBatch, CommitReceipt, ErrorKind, InstanceRef, ProviderError, ProviderResult,
    RowState, StartOutcome, StartRun, Status, WorkflowClaim, WorkflowStore,
};
use durable_core::time::Timestamp;

use super::state::{Claim, Instance, State};
use super::workflow_commit::commit_batch;
use super::{MemoryProvider, database_now};

#[async_trait]
impl WorkflowStore for MemoryProvider {
    async fn workflow_start(
        &self,
        starts: Vec<StartRun>,
    ) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
        start_batch(&mut self.state(), starts)
    }

    async fn workflow_claim(&self, params: WorkflowClaim) -> ProviderResult<Claimed> {
        Ok(claim(&mut self.state(), &params))
    }

    async fn workflow_commit(
        &self,
        batch: CommitBatch,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        commit_batch(&mut self.state(), batch)
    }
}

/// Starts every member; a refused one hurts no other, a constraint fails the batch and nothing of it stays.
fn start_batch(
    state: &mut State,
    starts: Vec<StartRun>,
) -> ProviderResult<Vec<ProviderResult<StartOutcome>>> {
    let last = state.instances.last_key_value().map_or(0, |(&last, _)| last);
    let answers: Vec<_> = starts.into_iter().map(|start| start_one(state, start)).collect();
    for answer in &answers {
        if let Err(error) = answer
            && error.kind() == ErrorKind::Conflict
        {
            state.instances.retain(|&id, _| id <= last);
            return Err(error.clone());
        }
    }
    Ok(answers)
}

fn start_one(state: &mut State, start: StartRun) -> ProviderResult<StartOutcome> {
    check_start(&start)?;
    let now = database_now(start.now);
    let repeated = state.instances.iter().find(|(_, instance)| instance.request_id == start.request_id);
    if let Some((&id, instance)) = repeated {
        return Ok(StartOutcome::Started(reference(id, instance)));
    }
    if let Some((id, instance)) = state.find(&start.workflow_id) {
        let existing = ExistingInstance {
            workflow_type: instance.workflow_type.clone(),
            input_digest: instance.input_digest.to_vec(),
            status: instance.status,
        };
        if decide_start(&start, &existing)? == StartDecision::UseExisting {
            return Ok(StartOutcome::Existing(reference(id, instance)));
        }
    }
    if state.knows(start.run_id) {
        let message = format!("run id {} is taken; draw another", start.run_id);
        return Err(ProviderError::new(ErrorKind::Conflict, message));
    }
    let id = state.instances.last_key_value().map_or(1, |(last, _)| last + 1);
    let run_id = start.run_id;
    state.instances.insert(id, new_instance(start, now));
    Ok(StartOutcome::Started(InstanceRef { instance: InstanceId(id), run_id }))
}

fn reference(id: i64, instance: &Instance) -> InstanceRef {
    InstanceRef { instance: InstanceId(id), run_id: instance.run_id }
}

fn new_instance(start: StartRun, now: Timestamp) -> Instance {
    Instance {
        workflow_id: start.workflow_id,
        workflow_type: start.workflow_type,
        input_digest: start.input_digest,
        request_id: start.request_id,
        run_id: start.run_id,
        run_number: 1,
        earlier: Vec::new(),
        queue: start.queue,
        priority: start.priority,
        status: Status::Runnable,
        eligible_at: now,
        wake_at: None,
        claim: None,
        epoch: Epoch(0),
        claims_without_progress: 0,
        owner_lost: false,
        next_event: start.history.next,
        last_flush: None,
        history: vec![start.history],
        inbox_seq: InboxSeq(0),
        inbox_seen: InboxSeq(0),
        inbox: Vec::new(),
        dedup: std::collections::BTreeSet::new(),
        blocked: None,
        blocked_attempts: 0,
        dead_letter_reason: None,
        outcome: None,
        created_at: now,
        closed_at: None,
    }
}

fn claim(state: &mut State, params: &WorkflowClaim) -> Claimed {
    let now = database_now(params.now);
    let mut picked: Vec<(u8, Timestamp, i64)> = state
        .instances
        .iter()
        .filter(|(_, instance)| instance.status == Status::Runnable && instance.queue == params.queue)
        .filter(|(_, instance)| instance.eligible_at <= now)
        .map(|(&id, instance)| (instance.priority, instance.eligible_at, id))
        .collect();
    picked.sort_unstable();
    picked.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
    let mut claimed = Claimed { now, runs: Vec::new(), dead_lettered: Vec::new() };
    let mut takeable = Vec::new();
    for (_, _, id) in picked {
        let Some(instance) = state.instances.get_mut(&id) else { continue };
        let claims = instance.claims_without_progress;
        if claims < params.max_claims {
            takeable.push((id, claims));
            continue;
        }
        instance.status = Status::DeadLettered;
        instance.dead_letter_reason = Some(dead_letter_reason(claims));
        claimed.dead_lettered.push(InstanceId(id));
    }
    isolate(&mut takeable, |&(_, claims)| claims >= params.isolate_at);
    for (id, _) in takeable {
        let Some(instance) = state.instances.get_mut(&id) else { continue };
        instance.status = Status::Executing;
        instance.claim = Some(Claim { owner: params.incarnation, expires_at: now.plus(params.lease) });
        instance.epoch = Epoch(instance.epoch.0 + 1);
        instance.claims_without_progress += 1;
        if let Some(run) = claimed_run(state, id) {
            claimed.runs.push(run);
        }
    }
    claimed
}

fn claimed_run(state: &State, id: i64) -> Option<ClaimedRun> {
    let instance = state.instances.get(&id)?;
    let mut activity_rows: Vec<RowState> = state
        .activities
        .iter()
        .filter(|(_, activity)| activity.instance.0 == id)
        .map(|(&row, activity)| RowState { command: activity.command, row: ActivityRowId(row) })
        .collect();
    activity_rows.sort_unstable_by_key(|row| row.command);
    Some(ClaimedRun {
        instance: InstanceId(id),
        workflow_id: instance.workflow_id.clone(),
        workflow_type: instance.workflow_type.clone(),
        queue: instance.queue.clone(),
        run_id: instance.run_id,
        run_number: instance.run_number,
        epoch: instance.epoch,
        next_event: instance.next_event,
        history: match instance.history.as_slice() {
            [only] if only.bytes.len() <= CLAIM_HISTORY_BYTES => Some(only.clone()),
            _ => None,
        },
        inbox: instance.inbox.clone(),
        activity_rows,
        claims_without_progress: instance.claims_without_progress,
        owner_lost: instance.owner_lost,
        blocked_attempts: instance.blocked_attempts,
    })
}
