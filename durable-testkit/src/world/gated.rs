//! A provider whose calls wait at the gate.

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

use super::gate::Gate;
use super::owners::Owners;
use super::stamp::Stamp as _;
use crate::VirtualClock;

/// A provider of one process, behind the gate of the world.
#[derive(Debug)]
pub(super) struct Gated<P> {
    pub(super) inner: P,
    pub(super) gate: Gate,
    pub(super) process: usize,
    pub(super) clock: VirtualClock,
    pub(super) owners: Owners,
}

/// Methods that take one cloneable parameter and wait at the gate.
macro_rules! gated {
    ($($name:ident($params:ty) -> $answer:ty $(=> |$owners:ident, $sent:ident, $got:ident| $watch:expr)?;)*) => {
        $(
            fn $name<'life, 'call>(
                &'life self,
                params: $params,
            ) -> ::core::pin::Pin<Box<dyn Future<Output = ProviderResult<$answer>> + Send + 'call>>
            where
                'life: 'call,
                Self: 'call,
            {
                Box::pin(async move {
                    let call = async || {
                        let answer = self.inner.$name(params.at(self.clock.now())).await;
                        $({
                            let ($owners, $sent, $got) = (&self.owners, &params, &answer);
                            $watch
                        })?
                        answer
                    };
                    self.gate.pass(self.process, stringify!($name), call).await
                })
            }
        )*
    };
}

impl<P: Provider> WorkflowStore for Gated<P> {
    gated! {
        workflow_start(Vec<StartRun>) -> Vec<ProviderResult<StartOutcome>>;
        workflow_claim(WorkflowClaim) -> Claimed => |owners, _sent, got| owners.runs_claimed(got);
        workflow_commit(CommitBatch) -> Vec<ProviderResult<CommitReceipt>>
            => |owners, sent, got| owners.committed(sent, got);
    }
}

impl<P: Provider> ActivityQueue for Gated<P> {
    gated! {
        activity_claim(ActivityClaim) -> Vec<ClaimedActivity> => |owners, _sent, got| owners.rows_claimed(got);
        activity_settle(Vec<ActivityOutcome>) -> Vec<ProviderResult<ActivitySettled>>
            => |owners, sent, got| owners.settled(sent, got);
        activity_retry(Vec<ActivityRetry>) -> Vec<ProviderResult<()>>
            => |owners, sent, got| owners.given_back(sent, got);
    }
}

impl<P: Provider> Inbox for Gated<P> {
    gated! {
        cancel_request(CancelRequest) -> SendOutcome;
        inbox_read(InboxRead) -> Vec<InboxMessage>;
        inbox_pending(Incarnation) -> Vec<InstanceId>;
    }
}

impl<P: Provider> Maintenance for Gated<P> {
    gated! {
        lease_renew(LeaseRenewal) -> LeaseState;
        lease_reap(SweepParams) -> SweepReport;
        due_sweep(SweepParams) -> SweepReport;
        poll(PollParams) -> PollHint;
    }
}

#[async_trait]
impl<P: Provider> Inspect for Gated<P> {
    async fn instance_find(&self, id: &WorkflowId) -> ProviderResult<Option<InstanceView>> {
        self.gate.pass(self.process, "instance_find", || self.inner.instance_find(id)).await
    }

    async fn instances_open(&self, params: OpenInstances) -> ProviderResult<Vec<InstanceView>> {
        self.gate.pass(self.process, "instances_open", || self.inner.instances_open(params.clone())).await
    }

    async fn instance_view(&self, id: InstanceId) -> ProviderResult<Option<InstanceView>> {
        self.gate.pass(self.process, "instance_view", || self.inner.instance_view(id)).await
    }

    async fn history_read(&self, params: HistoryRead) -> ProviderResult<HistoryPage> {
        self.gate.pass(self.process, "history_read", || self.inner.history_read(params)).await
    }
}

impl<P: Provider> Workers for Gated<P> {
    gated! {
        worker_register(WorkerRegistration) -> Registered;
        worker_deregister(Incarnation) -> ();
    }
}

#[async_trait]
impl<P: Provider> Schema for Gated<P> {
    async fn migrate(&self) -> ProviderResult<()> {
        self.gate.pass(self.process, "migrate", || self.inner.migrate()).await
    }

    async fn clock(&self) -> ProviderResult<Timestamp> {
        self.gate.pass(self.process, "clock", async || Ok(self.clock.now())).await
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}
