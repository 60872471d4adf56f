//! A schema of its own for each test, and short ways to call a provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::history::EncodedBatch;
use durable_core::id::{
    CommandId, EventId, FlushId, IdSeed, InboxSeq, Incarnation, QueueName, RequestId, RunId, WorkflowId,
};
use durable_core::provider::{
    BlockChange, ClaimedRun, CommitBatch, CommitReceipt, Disposition, IdPolicy, NewActivityRow,
    ProviderResult, RunCommit, Schema as _, StartRun, WorkflowClaim, WorkflowStore as _,
};
use durable_postgres::{PostgresOptions, PostgresProvider};
use durable_testkit::postgres::PostgresServer;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};

/// A schema on the server of this process. Clones share it; with the last one it is removed.
#[derive(Clone)]
pub(crate) struct Database(Arc<Owned>);

struct Owned {
    server: &'static PostgresServer,
    schema: String,
    /// A parameter of the address.
    parameter: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("durable test {}-{number}", std::process::id());
        Self(Arc::new(Owned { server: PostgresServer::shared(), schema, parameter: String::new() }))
    }

    /// The same with a parameter in its address.
    pub(crate) fn with_parameter(self, parameter: &str) -> Self {
        let (server, schema) = (self.server(), self.schema().to_owned());
        Self(Arc::new(Owned { server, schema, parameter: parameter.to_owned() }))
    }

    pub(crate) fn schema(&self) -> &str {
        &self.0.schema
    }

    pub(crate) fn server(&self) -> &'static PostgresServer {
        self.0.server
    }

    /// Waits for locks longer than the detector of deadlocks does, and takes slots over at once.
    pub(crate) fn options(&self) -> PostgresOptions {
        let url = self.0.server.url();
        let joint = if url.contains('?') { '&' } else { '?' };
        PostgresOptions::parse(&format!("{url}{joint}{}", self.0.parameter))
            .unwrap()
            .schema(self.schema())
            .unwrap()
            .lock_timeout(Duration::from_mins(1))
            .takeover_delay(Duration::ZERO)
    }

    /// A provider with a pool of its own on the migrated schema.
    pub(crate) async fn provider(
        &self,
        change: impl FnOnce(PostgresOptions) -> PostgresOptions,
    ) -> PostgresProvider {
        let provider = PostgresProvider::open(change(self.options())).await.unwrap();
        provider.migrate().await.unwrap();
        provider
    }

    /// A connection behind the provider's back.
    pub(crate) async fn connect(&self) -> PgConnection {
        connect(self.0.server).await
    }

    /// Runs a statement behind the provider's back; `durable` stands for the schema, or `durable_placeholder` where
    /// the schema itself is named.
    pub(crate) async fn meddle(&self, statement: &str) {
        let quoted = format!("\"{}\"", self.schema());
        let text =
            statement.replace("durable.", &format!("{quoted}.")).replace("durable_placeholder", &quoted);
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connect().await).await.unwrap();
    }

    /// Ends a server process and waits until it is gone, from code that cannot wait otherwise.
    pub(crate) fn terminate(&self, pid: i32) {
        apart(self.0.server, format!("SELECT pg_terminate_backend({pid}, 60000)"));
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.server.is_throw_away() {
            apart(self.server, format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.schema));
        }
    }
}

async fn connect(server: &PostgresServer) -> PgConnection {
    server.url().parse::<PgConnectOptions>().unwrap().connect().await.unwrap()
}

/// Runs a statement on a thread of its own.
fn apart(server: &'static PostgresServer, statement: String) {
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = connect(server).await;
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        });
    };
    std::thread::spawn(work).join().unwrap();
}

/// One row of history at `first`.
pub(crate) fn batch(first: EventId) -> EncodedBatch {
    EncodedBatch { first, next: first.next(), bytes: vec![7; 200].into() }
}

pub(crate) fn start_params(id: &str) -> StartRun {
    StartRun {
        workflow_id: WorkflowId::new(id).unwrap(),
        workflow_type: "checkout".to_owned(),
        input_digest: [7; 32],
        queue: QueueName::default_queue(),
        priority: 5,
        run_id: RunId::fresh(),
        seed: IdSeed::fresh(),
        request_id: RequestId::fresh(),
        history: batch(EventId::FIRST),
        policy: IdPolicy::UseExisting,
        now: None,
    }
}

pub(crate) fn claim_params(worker: Incarnation, limit: u32) -> WorkflowClaim {
    WorkflowClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: QueueName::default_queue(),
        limit,
        lease: Duration::from_hours(1),
        max_claims: 1_000_000,
        now: None,
    }
}

/// Starts `count` runs and claims all of them.
pub(crate) async fn owned(provider: &PostgresProvider, worker: Incarnation, count: u32) -> Vec<ClaimedRun> {
    let starts = (0..count).map(|number| start_params(&format!("run-{number}"))).collect();
    for answer in provider.workflow_start(starts).await.unwrap() {
        answer.unwrap();
    }
    let runs = provider.workflow_claim(claim_params(worker, count)).await.unwrap().runs;
    assert_eq!(runs.len(), count as usize);
    runs
}

/// One event at `next`, and the run stays with its owner.
pub(crate) fn commit_params(run: &ClaimedRun, next: EventId) -> RunCommit {
    RunCommit {
        instance: run.instance,
        run_id: run.run_id,
        epoch: run.epoch,
        expected_next: next,
        flush: FlushId::fresh(),
        history: vec![batch(next)],
        consumed_through: InboxSeq(0),
        activities: Vec::new(),
        progress: true,
        block: BlockChange::Keep,
        disposition: Disposition::Keep,
    }
}

pub(crate) async fn commit(
    provider: &PostgresProvider,
    worker: Incarnation,
    commits: Vec<RunCommit>,
) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
    let lease = Duration::from_hours(1);
    provider.workflow_commit(CommitBatch { incarnation: worker, commits, lease, now: None }).await
}

pub(crate) fn row(command: u64) -> NewActivityRow {
    NewActivityRow {
        command: CommandId(command),
        activity_type: "charge".to_owned(),
        queue: QueueName::default_queue(),
        priority: 5,
        task: vec![7; 100].into(),
        attempts: 0,
        lost: 0,
        delay: Duration::ZERO,
        deadline: None,
        last_failure: None,
    }
}
