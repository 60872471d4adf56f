//! Workers: slots, incarnations, and who is dead.

use async_trait::async_trait;
use durable_core::id::{BuildId, Incarnation, SlotName};
use durable_core::provider::check::slot_taken;
use durable_core::provider::{
    ErrorKind, ProviderError, ProviderResult, Registered, Status, WorkerRegistration, Workers,
};
use durable_core::time::Timestamp;

use super::state::{State, Worker};
use super::{MemoryProvider, database_now};

#[async_trait]
impl Workers for MemoryProvider {
    async fn worker_register(&self, params: WorkerRegistration) -> ProviderResult<Registered> {
        let mut state = self.state();
        let now = database_now(params.now);
        let slot = take_slot(&state, params.slot)?;
        let freed = free_predecessors(&mut state, &slot, now);
        state.workers.retain(|_, worker| worker.slot != slot);
        state.workers.insert(params.incarnation, Worker { slot: slot.clone(), alive: true });
        unblock(&mut state, &params.build, now);
        Ok(Registered { slot, freed, now })
    }

    async fn worker_deregister(&self, incarnation: Incarnation) -> ProviderResult<()> {
        self.state().workers.remove(&incarnation);
        Ok(())
    }
}

fn take_slot(state: &State, named: Option<SlotName>) -> ProviderResult<SlotName> {
    let taken = |slot: &SlotName| state.workers.values().any(|worker| worker.alive && worker.slot == *slot);
    if let Some(slot) = named {
        return if taken(&slot) { Err(slot_taken(slot.as_str())) } else { Ok(slot) };
    }
    for number in 1_u32.. {
        let slot = SlotName::new(format!("worker-{number}"))
            .map_err(|error| ProviderError::new(ErrorKind::Invalid, error.to_string()))?;
        if !taken(&slot) {
            return Ok(slot);
        }
    }
    Err(slot_taken("worker-*"))
}

/// Frees what earlier incarnations under the slot hold: they are dead, or the slot would be taken.
fn free_predecessors(state: &mut State, slot: &SlotName, now: Timestamp) -> u64 {
    let dead: Vec<Incarnation> = state
        .workers
        .iter()
        .filter(|(_, worker)| worker.slot == *slot)
        .map(|(&incarnation, _)| incarnation)
        .collect();
    let mut freed = 0;
    for instance in state.instances.values_mut() {
        if instance.claim.is_some_and(|claim| dead.contains(&claim.owner)) {
            instance.lose_owner(now);
            freed += 1;
        }
    }
    for row in state.activities.values_mut() {
        if row.claim.is_some_and(|claim| dead.contains(&claim.owner)) {
            row.lose_owner(now);
            freed += 1;
        }
    }
    freed
}

/// Runs that another build blocked are due at once.
fn unblock(state: &mut State, build: &BuildId, now: Timestamp) {
    for instance in state.instances.values_mut().filter(|instance| instance.status == Status::Blocked) {
        let other = instance.blocked.as_ref().is_some_and(|(_, blocked_by)| blocked_by != build);
        if other && instance.wake_at.is_none_or(|at| at > now) {
            instance.wake_at = Some(now);
        }
    }
}
