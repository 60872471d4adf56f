//! Durable activity rows: claim, settle, try again.

use async_trait::async_trait;
use durable_core::id::{ActivityRowId, Epoch, Incarnation};
use durable_core::provider::check::{activity_lease_lost, isolate};
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, ClaimedActivity,
    MessageKind, ProviderResult,
};
use durable_core::time::Timestamp;

use super::state::{Activity, Claim, State};
use super::{MemoryProvider, database_now};

#[async_trait]
impl ActivityQueue for MemoryProvider {
    async fn activity_claim(&self, params: ActivityClaim) -> ProviderResult<Vec<ClaimedActivity>> {
        Ok(claim(&mut self.state(), &params))
    }

    async fn activity_settle(
        &self,
        outcomes: Vec<ActivityOutcome>,
    ) -> ProviderResult<Vec<ProviderResult<ActivitySettled>>> {
        let mut state = self.state();
        Ok(outcomes.into_iter().map(|outcome| settle(&mut state, outcome)).collect())
    }

    async fn activity_retry(&self, retries: Vec<ActivityRetry>) -> ProviderResult<Vec<ProviderResult<()>>> {
        let mut state = self.state();
        Ok(retries.into_iter().map(|retry| give_back(&mut state, retry)).collect())
    }
}

fn claim(state: &mut State, params: &ActivityClaim) -> Vec<ClaimedActivity> {
    let now = database_now(params.now);
    let mut picked: Vec<(u8, Timestamp, i64, u32)> = state
        .activities
        .iter()
        .filter(|(_, row)| row.queue == params.queue && row.is_claimable(&params.types, now))
        .map(|(&id, row)| (row.priority, row.eligible_at, id, row.lost))
        .collect();
    picked.sort_unstable();
    picked.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
    isolate(&mut picked, |&(.., lost)| lost >= params.isolate_at);
    let mut claimed = Vec::with_capacity(picked.len());
    for (_, _, id, _) in picked {
        let Some(row) = state.activities.get_mut(&id) else { continue };
        row.claim = Some(Claim { owner: params.incarnation, expires_at: now.plus(params.lease) });
        row.epoch = Epoch(row.epoch.0 + 1);
        let Some(instance) = state.instances.get(&row.instance.0) else { continue };
        claimed.push(ClaimedActivity {
            row: ActivityRowId(id),
            epoch: row.epoch,
            instance: row.instance,
            workflow_id: instance.workflow_id.clone(),
            run_id: row.run_id,
            command: row.command,
            activity_type: row.activity_type.clone(),
            task: row.task.clone(),
            attempts: row.attempts,
            lost: row.lost,
            backoff_due: row.backoff_due,
            deadline: row.deadline,
            last_failure: row.last_failure.clone(),
            now,
        });
    }
    claimed
}

/// The row, if its owner guard holds (G3).
fn held(
    state: &mut State,
    row: ActivityRowId,
    epoch: Epoch,
    owner: Incarnation,
    now: Timestamp,
) -> ProviderResult<&mut Activity> {
    state
        .activities
        .get_mut(&row.0)
        .filter(|found| found.epoch == epoch && found.claim.is_some_and(|claim| claim.holds(owner, now)))
        .ok_or_else(|| activity_lease_lost(row))
}

fn settle(state: &mut State, outcome: ActivityOutcome) -> ProviderResult<ActivitySettled> {
    let now = database_now(outcome.now);
    let instance = held(state, outcome.row, outcome.epoch, outcome.incarnation, now)?.instance;
    state.activities.remove(&outcome.row.0);
    if state.send(instance, MessageKind::ActivityOutcome, outcome.message, now) {
        Ok(ActivitySettled { instance })
    } else {
        Err(activity_lease_lost(outcome.row))
    }
}

fn give_back(state: &mut State, retry: ActivityRetry) -> ProviderResult<()> {
    let now = database_now(retry.now);
    let row = held(state, retry.row, retry.epoch, retry.incarnation, now)?;
    row.claim = None;
    row.eligible_at = now.plus(retry.delay);
    row.attempts = retry.attempts;
    row.backoff_due = false;
    if retry.last_failure.is_some() {
        row.last_failure = retry.last_failure;
    }
    Ok(())
}
