//! Leases and sweeps.

use async_trait::async_trait;
use durable_core::id::{Epoch, Incarnation};
use durable_core::provider::{
    LeaseRenewal, LeaseState, Maintenance, PollHint, PollParams, ProviderResult, Status, SweepParams,
    SweepReport,
};
use durable_core::time::Timestamp;

use super::state::{Claim, State};
use super::{MemoryProvider, database_now};

#[async_trait]
impl Maintenance for MemoryProvider {
    async fn lease_renew(&self, params: LeaseRenewal) -> ProviderResult<LeaseState> {
        let mut state = self.state();
        let now = database_now(params.now);
        let renewal = Renewal { owner: params.incarnation, now, end: now.plus(params.lease) };
        let mut lost = LeaseState { now, lost_instances: Vec::new(), lost_activities: Vec::new() };
        for (id, epoch) in params.instances {
            let found = state.instances.get_mut(&id.0).map(|found| (found.epoch, &mut found.claim));
            if !renewal.apply(epoch, found) {
                lost.lost_instances.push(id);
            }
        }
        for (row, epoch) in params.activities {
            let found = state.activities.get_mut(&row.0).map(|found| (found.epoch, &mut found.claim));
            if !renewal.apply(epoch, found) {
                lost.lost_activities.push(row);
            }
        }
        Ok(lost)
    }

    async fn lease_reap(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        Ok(reap(&mut self.state(), params))
    }

    async fn due_sweep(&self, params: SweepParams) -> ProviderResult<SweepReport> {
        let mut state = self.state();
        let now = database_now(params.now);
        let mut due: Vec<(Timestamp, i64)> = state.sleeping().filter(|&(at, _)| at <= now).collect();
        due.sort_unstable();
        due.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
        for &(at, id) in &due {
            if let Some(instance) = state.instances.get_mut(&id) {
                instance.make_runnable(at);
            }
        }
        Ok(SweepReport { instances: due.len() as u64, activities: 0 })
    }

    async fn poll(&self, params: PollParams) -> ProviderResult<PollHint> {
        Ok(poll(&self.state(), &params))
    }
}

/// One renewal of many leases.
struct Renewal {
    owner: Incarnation,
    now: Timestamp,
    end: Timestamp,
}

impl Renewal {
    #[expect(clippy::needless_pass_by_value, reason = "the pair holds the only borrow of the row")]
    /// Never shortens a lease, never revives an expired one (G7); `false` when it is lost.
    fn apply(&self, epoch: Epoch, found: Option<(Epoch, &mut Option<Claim>)>) -> bool {
        let Some((stored, Some(claim))) = found else { return false };
        if stored != epoch || !claim.holds(self.owner, self.now) {
            return false;
        }
        claim.expires_at = claim.expires_at.max(self.end);
        true
    }
}

impl State {
    /// Waiting and blocked instances with the time at which they are due.
    fn sleeping(&self) -> impl Iterator<Item = (Timestamp, i64)> + '_ {
        self.instances
            .iter()
            .filter(|(_, instance)| matches!(instance.status, Status::Waiting | Status::Blocked))
            .filter_map(|(&id, instance)| instance.wake_at.map(|at| (at, id)))
    }
}

fn reap(state: &mut State, params: SweepParams) -> SweepReport {
    let now = database_now(params.now);
    let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
    let expired =
        |claim: &Option<Claim>| claim.filter(|claim| claim.expires_at <= now).map(|claim| claim.expires_at);
    let mut report = SweepReport::default();
    let mut instances: Vec<_> =
        state.instances.values_mut().filter(|instance| expired(&instance.claim).is_some()).collect();
    instances.sort_by_key(|instance| expired(&instance.claim));
    for instance in instances.into_iter().take(limit) {
        instance.lose_owner(now);
        report.instances += 1;
    }
    let left = limit.saturating_sub(usize::try_from(report.instances).unwrap_or(usize::MAX));
    let mut rows: Vec<_> =
        state.activities.values_mut().filter(|row| expired(&row.claim).is_some()).collect();
    rows.sort_by_key(|row| expired(&row.claim));
    for row in rows.into_iter().take(left) {
        row.lose_owner(now);
        report.activities += 1;
    }
    report
}

fn poll(state: &State, params: &PollParams) -> PollHint {
    let now = database_now(params.now);
    let expired = |claim: &Option<Claim>| claim.is_some_and(|claim| claim.expires_at <= now);
    let runnable = || {
        state
            .instances
            .values()
            .filter(|instance| instance.status == Status::Runnable && params.queues.contains(&instance.queue))
    };
    let rows =
        || state.activities.values().filter(|row| row.claim.is_none() && params.queues.contains(&row.queue));
    let timers = state.sleeping().map(|(at, _)| at);
    let starts = runnable().map(|instance| instance.eligible_at);
    let retries =
        rows().filter(|row| params.activity_types.contains(&row.activity_type)).map(|row| row.eligible_at);
    let deadlines = rows().filter_map(|row| row.deadline);
    PollHint {
        now,
        runnable: runnable().any(|instance| instance.eligible_at <= now),
        due: state.sleeping().any(|(at, _)| at <= now),
        expired: state.instances.values().any(|instance| expired(&instance.claim))
            || state.activities.values().any(|row| expired(&row.claim)),
        activities: rows().any(|row| row.is_claimable(&params.activity_types, now)),
        inbox: state.pending(params.incarnation).next().is_some(),
        next_due: timers.chain(starts).chain(retries).chain(deadlines).filter(|&at| at > now).min(),
    }
}
