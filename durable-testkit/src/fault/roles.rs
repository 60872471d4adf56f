//! Every call of the contract goes through [`FaultProvider::through`] under its own name.

use async_trait::async_trait;
use durable_core::id::{Incarnation, InstanceId, WorkflowId};
use durable_core::provider::{
    ActivityClaim, ActivityOutcome, ActivityQueue, ActivityRetry, ActivitySettled, CancelRequest, Claimed,
    ClaimedActivity, CommitBatch, CommitReceipt, HistoryPage, HistoryRead, Inbox, InboxMessage, InboxRead,
    Inspect, InstanceView, LeaseRenewal, LeaseState, Maintenance, OpenInstances, PollHint, PollParams,
    Provider, ProviderResult, Registered, Schema, SendOutcome, StartOutcome, StartRun, SweepParams,
    SweepReport, WorkerRegistration, Workers, WorkflowClaim, WorkflowStore,
};
use durable_core::time::Timestamp;

use super::FaultProvider;

/// One role: each call is forwarded with a copy of its params, since it may be made twice.
macro_rules! role {
    ($role:ident { $($call:ident($params:ty) -> $answer:ty;)* }) => {
        #[async_trait]
        impl<P: Provider + ?Sized> $role for FaultProvider<P> {
            $(
                async fn $call(&self, params: $params) -> ProviderResult<$answer> {
                    self.through(stringify!($call), |inner| inner.$call(params.clone())).await
                }
            )*
        }
    };
}

role!(WorkflowStore {
    workflow_start(Vec<StartRun>) -> Vec<ProviderResult<StartOutcome>>;
    workflow_claim(WorkflowClaim) -> Claimed;
    workflow_commit(CommitBatch) -> Vec<ProviderResult<CommitReceipt>>;
});

role!(ActivityQueue {
    activity_claim(ActivityClaim) -> Vec<ClaimedActivity>;
    activity_settle(Vec<ActivityOutcome>) -> Vec<ProviderResult<ActivitySettled>>;
    activity_retry(Vec<ActivityRetry>) -> Vec<ProviderResult<()>>;
});

role!(Inbox {
    cancel_request(CancelRequest) -> SendOutcome;
    inbox_read(InboxRead) -> Vec<InboxMessage>;
    inbox_pending(Incarnation) -> Vec<InstanceId>;
});

role!(Maintenance {
    lease_renew(LeaseRenewal) -> LeaseState;
    lease_reap(SweepParams) -> SweepReport;
    due_sweep(SweepParams) -> SweepReport;
    poll(PollParams) -> PollHint;
});

role!(Workers {
    worker_register(WorkerRegistration) -> Registered;
    worker_deregister(Incarnation) -> ();
});

#[async_trait]
impl<P: Provider + ?Sized> Inspect for FaultProvider<P> {
    async fn instance_find(&self, workflow_id: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        self.through("instance_find", |inner| inner.instance_find(workflow_id)).await
    }

    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>> {
        self.through("instances_open", |inner| inner.instances_open(params.clone())).await
    }

    async fn instance_view(&self, instance: InstanceId) -> ProviderResult<Option<InstanceView>> {
        self.through("instance_view", |inner| inner.instance_view(instance)).await
    }

    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage> {
        self.through("history_read", |inner| inner.history_read(params)).await
    }
}

#[async_trait]
impl<P: Provider + ?Sized> Schema for FaultProvider<P> {
    async fn migrate(&self) -> ProviderResult<()> {
        self.through("migrate", P::migrate).await
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        self.through("clock", P::clock).await
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}
