//! What the provider does per second beside what the server itself does over the same connections, on a server of
//! its own with durability on. `cargo run --release -p durable-postgres --example figures [seconds per line]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable_core::history::EncodedBatch;
use durable_core::id::{
    EventId, FlushId, IdSeed, InboxSeq, Incarnation, QueueName, RequestId, RunId, WorkflowId,
};
use durable_core::provider::{
    BlockChange, ClaimedRun, CommitBatch, Disposition, IdPolicy, RunCommit, Schema as _, StartRun,
    WorkflowClaim, WorkflowStore as _,
};
use durable_core::time::{Clock as _, SystemClock};
use durable_postgres::{PostgresOptions, PostgresProvider};
use durable_testkit::postgres::PostgresServer;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, PgConnection, Row as _};

const LEASE: Duration = Duration::from_mins(1);
type Answer<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A server, a provider on it, and how long a line takes.
struct Bench {
    provider: PostgresProvider,
    options: PgConnectOptions,
    clock: SystemClock,
    seconds: f64,
}

#[tokio::main]
async fn main() -> Answer<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(3.0), |text| text.parse())?;
    let server = PostgresServer::start(&[]);
    let provider = PostgresProvider::open(PostgresOptions::parse(server.url())?).await?;
    provider.migrate().await?;
    let options: PgConnectOptions = server.url().parse()?;
    let bench = Bench { provider, options, clock: SystemClock::new(), seconds };
    bench.settings().await?;
    println!("{:<58} {:>10} {:>10}", "", "per second", "WAL bytes");
    bench.floor(1).await?;
    bench.floor(8).await?;
    for (runs, lanes) in [(1, 1), (1, 8), (8, 1), (64, 1), (512, 1), (64, 8)] {
        bench.commits(runs, lanes).await?;
    }
    for (limit, lanes) in [(1, 1), (1, 8), (64, 1), (64, 8)] {
        bench.claims(limit, lanes).await?;
    }
    for count in [1, 64] {
        bench.starts(count).await?;
    }
    bench.updates().await
}

impl Bench {
    async fn connect(&self) -> Answer<PgConnection> {
        Ok(self.options.connect().await?)
    }

    async fn settings(&self) -> Answer<()> {
        let mut connection = self.connect().await?;
        let row = sqlx::query(
            "SELECT version(), current_setting('fsync'), current_setting('synchronous_commit'), \
             current_setting('wal_sync_method')",
        )
        .fetch_one(&mut connection)
        .await?;
        let [version, fsync, commit, method]: [String; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
        let version = version.split(" on ").next().unwrap_or_default();
        println!("{version}, fsync={fsync}, synchronous_commit={commit}, wal_sync_method={method}\n");
        Ok(())
    }

    async fn wal(&self) -> Answer<i64> {
        let text = "SELECT (pg_current_wal_insert_lsn() - '0/0')::BIGINT";
        Ok(sqlx::query(text).fetch_one(&mut self.connect().await?).await?.get(0))
    }

    fn over(&self, begun: Duration) -> bool {
        self.clock.elapsed().saturating_sub(begun).as_secs_f64() >= self.seconds
    }

    /// Runs lanes beside each other and prints how many things they did.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    async fn line<F: Future<Output = Answer<u64>>>(
        &self,
        name: &str,
        lanes: impl IntoIterator<Item = F>,
    ) -> Answer<()> {
        let (wal, begun) = (self.wal().await?, self.clock.elapsed());
        let mut done = 0;
        for count in futures_util::future::join_all(lanes).await {
            done += count?;
        }
        let time = self.clock.elapsed().saturating_sub(begun).as_secs_f64();
        let wal = (self.wal().await? - wal) as f64 / done.max(1) as f64;
        println!("{name:<58} {:>10.0} {wal:>10.0}", done as f64 / time);
        Ok(())
    }

    /// One row, one commit: what the disk and the protocol cost.
    async fn floor(&self, lanes: u32) -> Answer<()> {
        let mut connections = Vec::new();
        for _ in 0..lanes {
            connections.push(self.connect().await?);
        }
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS bare (n BIGINT)")
            .execute(&mut self.connect().await?)
            .await?;
        let begun = self.clock.elapsed();
        let lanes = connections.into_iter().map(|mut connection| async move {
            let mut done = 0;
            while !self.over(begun) {
                sqlx::query("INSERT INTO bare VALUES ($1)").bind(1_i64).execute(&mut connection).await?;
                done += 1;
            }
            Ok(done)
        });
        let lanes: Vec<_> = lanes.collect();
        self.line(&format!("floor: bare single-row commits, {} connections", lanes.len()), lanes).await
    }

    async fn start_runs(&self, queue: &str, count: usize) -> Answer<()> {
        for part in (0..count).collect::<Vec<_>>().chunks(1000) {
            let starts = part.iter().map(|_| start(queue)).collect::<Answer<Vec<_>>>()?;
            for answer in self.provider.workflow_start(starts).await? {
                answer?;
            }
        }
        Ok(())
    }

    async fn claim(&self, queue: &str, worker: Incarnation, limit: usize) -> Answer<Vec<ClaimedRun>> {
        let queue = QueueName::new(queue)?;
        let (limit, max_claims) = (u32::try_from(limit)?, u32::MAX);
        let claim = WorkflowClaim {
            incarnation: worker,
            queue,
            limit,
            lease: LEASE,
            max_claims,
            isolate_at: u32::MAX,
            now: None,
        };
        Ok(self.provider.workflow_claim(claim).await?.runs)
    }

    /// Commits of one 300-byte history row each, `runs` in a flush.
    async fn commits(&self, runs: usize, lanes: usize) -> Answer<()> {
        let (worker, queue) = (Incarnation::fresh(), format!("commits-{runs}-{lanes}"));
        self.start_runs(&queue, runs * lanes).await?;
        let owned = self.claim(&queue, worker, runs * lanes).await?;
        let begun = self.clock.elapsed();
        let flushes = owned.chunks(runs).map(|runs| async move {
            let mut next = EventId(2);
            let mut done = 0;
            while !self.over(begun) {
                let commits: Vec<_> = runs.iter().map(|run| turn(run, next)).collect();
                done += commits.len() as u64;
                let batch = CommitBatch { incarnation: worker, commits, lease: LEASE, now: None };
                for answer in self.provider.workflow_commit(batch).await? {
                    answer?;
                }
                next = next.next();
            }
            Ok(done)
        });
        self.line(&format!("commits, {runs} in a flush, {lanes} flushes at once"), flushes).await
    }

    /// Claims of runs that were started before.
    async fn claims(&self, limit: usize, lanes: usize) -> Answer<()> {
        let queue = format!("claims-{limit}-{lanes}");
        let stock = 2000 * limit.min(16) * lanes.min(4);
        self.start_runs(&queue, stock).await?;
        let begun = self.clock.elapsed();
        let queue = queue.as_str();
        let lanes = (0..lanes).map(|_| async move {
            let (worker, mut done) = (Incarnation::fresh(), 0);
            while !self.over(begun) {
                let count = self.claim(queue, worker, limit).await?.len() as u64;
                if count == 0 {
                    break;
                }
                done += count;
            }
            Ok(done)
        });
        let lanes: Vec<_> = lanes.collect();
        self.line(&format!("claims, up to {limit} at a time, {} claimers at once", lanes.len()), lanes).await
    }

    async fn starts(&self, count: usize) -> Answer<()> {
        let (begun, done) = (self.clock.elapsed(), Arc::new(AtomicU64::new(0)));
        let lane = async {
            while !self.over(begun) {
                self.start_runs("starts", count).await?;
                done.fetch_add(count as u64, Ordering::Relaxed);
            }
            Ok(done.load(Ordering::Relaxed))
        };
        self.line(&format!("starts, {count} in a call"), [lane]).await
    }

    /// How many updates of instances found room on their page and touched no index.
    async fn updates(&self) -> Answer<()> {
        let text = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'instances'";
        let row = sqlx::query(text).fetch_one(&mut self.connect().await?).await?;
        let (all, hot): (i64, i64) = (row.get(0), row.get(1));
        println!("\nupdates of instances: {all}, of them without a new index entry (HOT): {hot}");
        Ok(())
    }
}

fn batch(first: EventId) -> EncodedBatch {
    EncodedBatch { first, next: first.next(), bytes: vec![7; 300].into() }
}

fn start(queue: &str) -> Answer<StartRun> {
    let run_id = RunId::fresh();
    Ok(StartRun {
        workflow_id: WorkflowId::new(run_id.to_string())?,
        workflow_type: "checkout".to_owned(),
        input_digest: [7; 32],
        queue: QueueName::new(queue)?,
        priority: 5,
        run_id,
        seed: IdSeed::fresh(),
        request_id: RequestId::fresh(),
        history: batch(EventId::FIRST),
        policy: IdPolicy::UseExisting,
        now: None,
    })
}

fn turn(run: &ClaimedRun, next: EventId) -> RunCommit {
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
