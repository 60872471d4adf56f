//! Reads: instances and histories.

use async_trait::async_trait;
use durable_core::id::{InstanceId, WorkflowId};
use durable_core::provider::check::{check_stored_rows, missing_events, unknown_run};
use durable_core::provider::{
    BlockedView, HistoryPage, HistoryRead, Inspect, InstanceView, OpenInstances, ProviderResult,
};

use super::MemoryProvider;
use super::state::Instance;

#[async_trait]
impl Inspect for MemoryProvider {
    async fn instance_find(&self, workflow_id: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        Ok(self.state().find(workflow_id).map(|(id, instance)| view(id, instance)))
    }

    async fn instance_view(&self, instance: InstanceId) -> ProviderResult<Option<InstanceView>> {
        Ok(self.state().instances.get(&instance.0).map(|found| view(instance.0, found)))
    }

    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>> {
        let state = self.state();
        let mut open: Vec<_> = state
            .instances
            .iter()
            .filter(|(_, instance)| instance.status.is_open())
            .filter(|(_, instance)| params.after.as_ref().is_none_or(|after| instance.workflow_id > *after))
            .map(|(id, instance)| view(*id, instance))
            .collect();
        open.sort_by(|one, two| one.workflow_id.cmp(&two.workflow_id));
        open.truncate(usize::try_from(params.limit).unwrap_or(usize::MAX));
        Ok(open)
    }

    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage> {
        let state = self.state();
        let found = state.instances.values().find_map(|instance| instance.history_of(params.run_id));
        let Some((history, end)) = found else { return Err(unknown_run(params.run_id)) };
        let mut rows = Vec::new();
        let mut next = None;
        let mut size = 0;
        for row in history.iter().filter(|row| row.first >= params.from) {
            if size >= params.max_bytes && !rows.is_empty() {
                next = Some(row.first);
                break;
            }
            size += row.bytes.len();
            rows.push(row.clone());
        }
        let reached = check_stored_rows(params.run_id, params.from, &rows)?;
        if next.is_none() && reached < end {
            return Err(missing_events(params.run_id, reached, end));
        }
        Ok(HistoryPage { rows, next })
    }
}

fn view(id: i64, instance: &Instance) -> InstanceView {
    InstanceView {
        instance: InstanceId(id),
        workflow_id: instance.workflow_id.clone(),
        workflow_type: instance.workflow_type.clone(),
        run_id: instance.run_id,
        run_number: instance.run_number,
        status: instance.status,
        blocked: instance.blocked.as_ref().map(|(reason, _)| BlockedView {
            reason: reason.clone(),
            attempts: instance.blocked_attempts,
            retry_at: instance.wake_at,
        }),
        dead_letter_reason: instance.dead_letter_reason.clone(),
        events: instance.next_event.0 - 1,
        created_at: instance.created_at,
        closed_at: instance.closed_at,
        outcome: instance.outcome.clone(),
    }
}
