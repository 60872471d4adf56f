//! The inbox: messages for an instance that are not yet history.

use async_trait::async_trait;
use durable_core::id::{Incarnation, InstanceId};
use durable_core::provider::check::unknown_instance;
use durable_core::provider::{
    CancelRequest, Inbox, InboxMessage, InboxRead, MessageKind, ProviderResult, SendOutcome,
};

use super::{MemoryProvider, database_now};

#[async_trait]
impl Inbox for MemoryProvider {
    async fn cancel_request(&self, params: CancelRequest) -> ProviderResult<SendOutcome> {
        let mut state = self.state();
        let now = database_now(params.now);
        let Some(instance) = state.instances.get_mut(&params.instance.0) else {
            return Err(unknown_instance(params.instance));
        };
        if !instance.status.is_open() {
            return Ok(SendOutcome::Closed);
        }
        if !instance.dedup.insert(params.request_id) {
            return Ok(SendOutcome::Duplicate);
        }
        state.send(params.instance, MessageKind::CancelRequest, params.reason.into_bytes().into(), now);
        Ok(SendOutcome::Accepted)
    }

    async fn inbox_read(&self, params: InboxRead) -> ProviderResult<Vec<InboxMessage>> {
        let state = self.state();
        let Some(instance) = state.instances.get(&params.instance.0) else { return Ok(Vec::new()) };
        Ok(instance.inbox.iter().filter(|message| message.seq > params.after).cloned().collect())
    }

    async fn inbox_pending(&self, incarnation: Incarnation) -> ProviderResult<Vec<InstanceId>> {
        Ok(self.state().pending(incarnation).collect())
    }
}
