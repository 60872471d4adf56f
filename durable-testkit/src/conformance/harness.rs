//! What the cases share: a provider, short ways to call it, and pictures of what is stored.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{
    BuildId, CommandId, EventId, FlushId, IdSeed, InboxSeq, Incarnation, InstanceId, QueueName, RequestId,
    RunId, SlotName, WorkflowId,
};
use durable_core::provider::{
    ActivityChange, ActivityClaim, BlockChange, CancelRequest, ClaimedActivity, ClaimedRun, CommitBatch,
    CommitReceipt, Disposition, ErrorKind, HistoryRead, IdPolicy, InboxRead, InstanceRef, InstanceView,
    NewActivityRow, Provider, ProviderError, ProviderResult, RunCommit, SendOutcome, StartOutcome, StartRun,
    SweepParams, WorkerRegistration, WorkflowClaim,
};
use durable_core::time::Timestamp;

/// The lease of every claim in the suite.
pub const LEASE: Duration = Duration::from_secs(30);

/// A point in time of the suite: seconds since its beginning.
pub fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(1_893_456_000_000_000).plus(Duration::from_secs(seconds))
}

/// One history row of `count` events from `first`. Its bytes are not JSON: a provider does not look.
pub fn rows(first: EventId, count: u64) -> Vec<EncodedBatch> {
    let bytes = Bytes::from(format!("events \0 {first}+{count}"));
    vec![EncodedBatch { first, next: EventId(first.0 + count), bytes }]
}

/// Writes down everything that is stored.
type Dump = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// A provider under test on an empty database. Clones share it.
#[derive(Clone)]
pub struct Harness {
    provider: Arc<dyn Provider>,
    peers: Vec<Arc<dyn Provider>>,
    kill: Arc<dyn Fn(Incarnation) + Send + Sync>,
    dump: Option<Dump>,
    _keep: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Harness {
    /// `kill` lets an incarnation's liveness lock go as the operating system does when a process dies;
    /// `keep` lives as long as the harness (a temporary directory).
    pub fn new(
        provider: Arc<dyn Provider>,
        kill: impl Fn(Incarnation) + Send + Sync + 'static,
        keep: impl Any + Send + Sync,
    ) -> Self {
        Self { provider, peers: Vec::new(), kill: Arc::new(kill), dump: None, _keep: Arc::new(keep) }
    }

    /// Another provider on the same database, with connections of its own: cases that race use it too.
    #[must_use]
    pub fn with_peer(mut self, peer: Arc<dyn Provider>) -> Self {
        self.peers.push(peer);
        self
    }

    /// A way to write down everything that is stored, row by row. With it, cases that demand that nothing
    /// changed look at every column; without it they look at what readers can see.
    #[must_use]
    pub fn with_dump<F>(mut self, dump: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = String> + Send + 'static,
    {
        self.dump = Some(Arc::new(move || Box::pin(dump())));
        self
    }

    /// The provider.
    pub fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// The provider, to be wrapped.
    pub(super) fn shared(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.provider)
    }

    /// The provider or one of its peers, in turn.
    pub(super) fn peer(&self, number: usize) -> &dyn Provider {
        match number % (self.peers.len() + 1) {
            0 => &*self.provider,
            peer => &*self.peers[peer - 1],
        }
    }

    pub(super) fn kill(&self, incarnation: Incarnation) {
        (self.kill)(incarnation);
    }

    /// A start of workflow `id` at [`at`]`(0)` with nothing special about it.
    pub(super) fn start_params(id: &str) -> StartRun {
        StartRun {
            workflow_id: WorkflowId::new(id).unwrap(),
            workflow_type: "checkout".to_owned(),
            input_digest: [7; 32],
            queue: QueueName::default_queue(),
            priority: 5,
            run_id: RunId::fresh(),
            seed: IdSeed::fresh(),
            request_id: RequestId::fresh(),
            history: rows(EventId::FIRST, 1).remove(0),
            policy: IdPolicy::UseExisting,
            now: Some(at(0)),
        }
    }

    pub(super) async fn start_with(&self, start: StartRun) -> ProviderResult<StartOutcome> {
        self.provider.workflow_start(vec![start]).await.unwrap().remove(0)
    }

    pub(super) async fn start(&self, id: &str) -> InstanceRef {
        match self.start_with(Self::start_params(id)).await.unwrap() {
            StartOutcome::Started(made) => made,
            StartOutcome::Existing(found) => panic!("{id} was there already: {found:?}"),
        }
    }

    pub(super) fn claim_params(worker: Incarnation, now: Timestamp) -> WorkflowClaim {
        WorkflowClaim {
            incarnation: worker,
            queue: QueueName::default_queue(),
            limit: 100,
            lease: LEASE,
            max_claims: 3,
            isolate_at: u32::MAX,
            now: Some(now),
        }
    }

    pub(super) async fn claim(&self, worker: Incarnation, now: Timestamp) -> Vec<ClaimedRun> {
        self.provider.workflow_claim(Self::claim_params(worker, now)).await.unwrap().runs
    }

    pub(super) async fn claim_one(&self, worker: Incarnation, now: Timestamp) -> ClaimedRun {
        let mut runs = self.claim(worker, now).await;
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Starts workflow `id` and claims it, at [`at`]`(0)`.
    pub(super) async fn owned(&self, id: &str, worker: Incarnation) -> ClaimedRun {
        self.start(id).await;
        self.claim_one(worker, at(0)).await
    }

    /// An empty commit of a claimed run that keeps it.
    pub(super) fn commit_params(run: &ClaimedRun) -> RunCommit {
        RunCommit {
            instance: run.instance,
            run_id: run.run_id,
            epoch: run.epoch,
            expected_next: run.next_event,
            flush: FlushId::fresh(),
            history: Vec::new(),
            consumed_through: InboxSeq(0),
            activities: Vec::new(),
            progress: false,
            block: BlockChange::Keep,
            disposition: Disposition::Keep,
        }
    }

    pub(super) async fn commit_all(
        &self,
        worker: Incarnation,
        commits: Vec<RunCommit>,
        now: Timestamp,
    ) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
        let batch = CommitBatch { incarnation: worker, commits, lease: LEASE, now: Some(now) };
        self.provider.workflow_commit(batch).await
    }

    pub(super) async fn commit(
        &self,
        worker: Incarnation,
        commit: RunCommit,
        now: Timestamp,
    ) -> ProviderResult<CommitReceipt> {
        self.commit_all(worker, vec![commit], now).await.unwrap().remove(0)
    }

    /// A run that waits for `wake_at`, released at [`at`]`(0)`.
    pub(super) async fn waiting(&self, id: &str, wake_at: Option<Timestamp>) -> InstanceId {
        let worker = Incarnation::fresh();
        let run = self.owned(id, worker).await;
        let wait = RunCommit { disposition: Disposition::Wait { wake_at }, ..Self::commit_params(&run) };
        self.commit(worker, wait, at(0)).await.unwrap();
        run.instance
    }

    /// A new activity row for `command`, claimable at once.
    pub(super) fn row(command: u64) -> NewActivityRow {
        NewActivityRow {
            command: CommandId(command),
            activity_type: "charge".to_owned(),
            queue: QueueName::default_queue(),
            priority: 5,
            task: Bytes::from_static(b"task \0 bytes"),
            attempts: 1,
            lost: 0,
            delay: Duration::ZERO,
            deadline: None,
            last_failure: None,
        }
    }

    /// A waiting run with these activity rows, made at [`at`]`(0)`.
    pub(super) async fn with_rows(&self, id: &str, rows: Vec<NewActivityRow>) -> ClaimedRun {
        let worker = Incarnation::fresh();
        let run = self.owned(id, worker).await;
        let commit = RunCommit {
            activities: rows.into_iter().map(ActivityChange::Insert).collect(),
            disposition: Disposition::Wait { wake_at: None },
            ..Self::commit_params(&run)
        };
        self.commit(worker, commit, at(0)).await.unwrap();
        run
    }

    pub(super) fn row_claim_params(worker: Incarnation, now: Timestamp) -> ActivityClaim {
        ActivityClaim {
            incarnation: worker,
            queue: QueueName::default_queue(),
            types: vec!["charge".to_owned()],
            limit: 100,
            lease: LEASE,
            isolate_at: u32::MAX,
            now: Some(now),
        }
    }

    pub(super) async fn claim_rows(&self, worker: Incarnation, now: Timestamp) -> Vec<ClaimedActivity> {
        self.claim_rows_of(worker, &["charge"], now).await
    }

    pub(super) async fn claim_rows_of(
        &self,
        worker: Incarnation,
        types: &[&str],
        now: Timestamp,
    ) -> Vec<ClaimedActivity> {
        let claim = ActivityClaim {
            types: types.iter().map(|&name| name.to_owned()).collect(),
            ..Self::row_claim_params(worker, now)
        };
        self.provider.activity_claim(claim).await.unwrap()
    }

    pub(super) async fn cancel(&self, instance: InstanceId, request_id: RequestId) -> SendOutcome {
        let request = CancelRequest {
            instance,
            reason: "no longer \0 wanted".to_owned(),
            request_id,
            now: Some(at(1)),
        };
        self.provider.cancel_request(request).await.unwrap()
    }

    pub(super) fn registration(slot: Option<&str>, build: &str, now: Timestamp) -> WorkerRegistration {
        WorkerRegistration {
            slot: slot.map(|name| SlotName::new(name).unwrap()),
            incarnation: Incarnation::fresh(),
            build: BuildId::new(build).unwrap(),
            now: Some(now),
        }
    }

    pub(super) fn sweep(now: Timestamp) -> SweepParams {
        SweepParams { limit: 100, now: Some(now) }
    }

    pub(super) async fn view(&self, instance: InstanceId) -> InstanceView {
        self.provider.instance_view(instance).await.unwrap().unwrap()
    }

    /// Everything that a reader can see of an instance; two equal pictures mean that nothing changed.
    pub(super) async fn picture(&self, instance: InstanceId) -> String {
        let view = self.view(instance).await;
        let read = HistoryRead { run_id: view.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        let history = self.provider.history_read(read).await.unwrap();
        let inbox = self.provider.inbox_read(InboxRead { instance, after: InboxSeq(0) }).await.unwrap();
        format!("{view:?}\n{history:?}\n{inbox:?}")
    }

    /// The pictures of these instances and, where the backend can, everything that is stored.
    pub(super) async fn stored(&self, instances: &[InstanceId]) -> String {
        let mut stored = String::new();
        for &instance in instances {
            stored += &self.picture(instance).await;
        }
        if let Some(dump) = &self.dump {
            stored += &dump().await;
        }
        stored
    }
}

/// Demands a refusal of this kind and hands it over.
pub(super) fn refused<T: fmt::Debug>(answer: ProviderResult<T>, kind: ErrorKind) -> ProviderError {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error
}
