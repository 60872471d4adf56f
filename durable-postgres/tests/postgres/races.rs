//! Many connections at once: nothing twice, nothing lost, nobody in a circle (G1, G6, G10).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use durable_core::id::{CommandId, EventId, InboxSeq, Incarnation, InstanceId, QueueName, RequestId};
use durable_core::provider::{
    ActivityChange, ActivityClaim, ActivityOutcome, ActivityQueue as _, ActivityRetry, CancelRequest,
    ClaimedActivity, ClaimedRun, Disposition, ErrorKind, Inbox as _, LeaseRenewal, Maintenance as _,
    ProviderResult, RunCommit, SendOutcome, StartOutcome, StartRun, Status, SweepParams, WorkerRegistration,
    Workers as _, WorkflowClaim, WorkflowStore as _,
};
use durable_postgres::PostgresProvider;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::sync::Barrier;

use crate::fixture::{Database, claim_params, commit, commit_params, owned, row, start_params};

const CONNECTIONS: u64 = 8;

/// Numbers that look random and are the same for the same seed (xorshift64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// Some of these, in any order.
    fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let count = 1 + self.below(left.len());
        (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }
}

fn seed() -> u64 {
    let seed = std::env::var("DURABLE_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761 + 1);
    println!("DURABLE_TEST_SEED={seed}");
    seed
}

fn claim_rows_params(worker: Incarnation) -> ActivityClaim {
    ActivityClaim {
        isolate_at: u32::MAX,
        incarnation: worker,
        queue: QueueName::default_queue(),
        types: vec!["charge".to_owned()],
        limit: 5,
        lease: Duration::from_hours(1),
        now: None,
    }
}

fn outcome(claimed: &ClaimedActivity, worker: Incarnation) -> ActivityOutcome {
    ActivityOutcome {
        row: claimed.row,
        epoch: claimed.epoch,
        incarnation: worker,
        message: Bytes::from_static(b"outcome"),
        now: None,
    }
}

fn cancel_params(instance: InstanceId) -> CancelRequest {
    CancelRequest { instance, reason: "why".to_owned(), request_id: RequestId::fresh(), now: None }
}

/// G1: each run goes to one of eight claimers, and a row that an update of nothing moves under a claim is still
/// reported by the claim that took it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_claimers_take_each_run_once_while_updates_move_the_rows() {
    const RUNS: u32 = 2000;
    let database = Database::new();
    let provider = database.provider(|options| options.pool(10)).await;
    let starts = (0..RUNS).map(|number| start_params(&format!("run-{number}"))).collect();
    assert!(provider.workflow_start(starts).await.unwrap().iter().all(Result::is_ok));
    let (mover, text) =
        (Database::clone(&database), "UPDATE durable.instances SET updated_at = updated_at WHERE id % 3 = 0");
    let claimed = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&claimed);
    let moving = tokio::spawn(async move {
        let text = text.replace("durable.", &format!("\"{}\".", mover.schema()));
        let mut connection = mover.connect().await;
        let mut updates = 0_u32;
        while !done.load(Ordering::Acquire) {
            sqlx::raw_sql(AssertSqlSafe(text.clone())).execute(&mut connection).await.unwrap();
            updates += 1;
        }
        updates
    });
    let barrier = Arc::new(Barrier::new(8));
    let claimers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (provider, barrier, worker) = (provider.clone(), barrier.clone(), Incarnation::fresh());
            tokio::spawn(async move {
                barrier.wait().await;
                let (mut mine, mut empty) = (Vec::new(), 0);
                // What the mover has locked is skipped, so one empty answer is not the end.
                while empty < 50 {
                    let runs = provider.workflow_claim(claim_params(worker, 7)).await.unwrap().runs;
                    empty = if runs.is_empty() { empty + 1 } else { 0 };
                    mine.extend(runs.into_iter().map(|run| run.instance));
                }
                (worker, mine)
            })
        })
        .collect();
    let (mut all, mut by_worker) = (Vec::new(), Vec::new());
    for claimer in claimers {
        let (worker, mine) = claimer.await.unwrap();
        by_worker.push((worker, mine.len()));
        all.extend(mine);
    }
    claimed.store(true, Ordering::Release);
    println!("{} updates of nothing ran beside the claims", moving.await.unwrap());
    // Whatever the mover still held at the end.
    let rest = provider.workflow_claim(claim_params(Incarnation::fresh(), RUNS)).await.unwrap().runs;
    all.extend(rest.into_iter().map(|run| run.instance));
    assert_eq!(all.len(), RUNS as usize);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), RUNS as usize);
    for (worker, count) in by_worker {
        let text = format!("SELECT count(*) FROM \"{}\".instances WHERE locked_by = $1", database.schema());
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(worker.0)
            .fetch_one(&mut database.connect().await)
            .await
            .unwrap();
        assert_eq!(row.get::<i64, _>(0), i64::try_from(count).unwrap());
    }
}

/// One writer of the hunt for deadlocks.
struct Hunter {
    provider: PostgresProvider,
    worker: Incarnation,
    runs: Arc<Vec<ClaimedRun>>,
    next: Arc<Mutex<Vec<EventId>>>,
    starts: Arc<AtomicU64>,
    held: Vec<ClaimedActivity>,
    dice: Dice,
    number: u64,
}

impl Hunter {
    /// One random call; tells how many things it changed.
    async fn call(&mut self) -> ProviderResult<usize> {
        match self.dice.below(11) {
            0..=2 => self.flush().await,
            3 => self.message().await,
            4 | 5 => {
                let claimed = self.provider.activity_claim(claim_rows_params(self.worker)).await?;
                self.held.extend(claimed);
                Ok(0)
            }
            6 => self.settle().await,
            7 | 8 => self.retry().await,
            9 => self.sweep().await,
            _ => self.start_and_register().await,
        }
    }

    /// A flush of some runs in any order, with rows made and removed; races for the same events are refused.
    async fn flush(&mut self) -> ProviderResult<usize> {
        let places: Vec<usize> = (0..self.runs.len()).collect();
        let places = self.dice.some(&places);
        let next = self.next.lock().unwrap().clone();
        let commits: Vec<RunCommit> = places
            .iter()
            .map(|&place| {
                let mut commit = commit_params(&self.runs[place], next[place]);
                let made = next[place].0;
                commit.activities = vec![ActivityChange::Insert(row(made))];
                let recent: Vec<u64> = (made.saturating_sub(9)..made).collect();
                let gone = self.dice.some(&recent).into_iter().take(3);
                commit.activities.extend(gone.map(|command| ActivityChange::Remove(CommandId(command))));
                commit.consumed_through = InboxSeq(made.try_into().unwrap());
                commit
            })
            .collect();
        let mut written = 0;
        for (place, answer) in
            places.into_iter().zip(commit(&self.provider, Self::runs_owner(), commits).await?)
        {
            match answer {
                Ok(receipt) => {
                    written += 1;
                    let mut next = self.next.lock().unwrap();
                    next[place] = next[place].max(receipt.next_event);
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::LeaseLost, "{error}"),
            }
        }
        Ok(written)
    }

    fn runs_owner() -> Incarnation {
        Incarnation(uuid::Uuid::from_u128(7))
    }

    async fn message(&mut self) -> ProviderResult<usize> {
        let place = self.dice.below(self.runs.len());
        let sent = self.provider.cancel_request(cancel_params(self.runs[place].instance)).await?;
        Ok(usize::from(sent == SendOutcome::Accepted))
    }

    async fn settle(&mut self) -> ProviderResult<usize> {
        if self.held.is_empty() {
            return Ok(0);
        }
        let ended = self.dice.some(&self.held);
        self.held.retain(|held| ended.iter().all(|other| other.row != held.row));
        let outcomes = ended.iter().map(|claimed| outcome(claimed, self.worker)).collect();
        Ok(self.provider.activity_settle(outcomes).await?.iter().filter(|answer| answer.is_ok()).count())
    }

    async fn retry(&mut self) -> ProviderResult<usize> {
        if self.held.is_empty() {
            return Ok(0);
        }
        let again = self.dice.some(&self.held);
        self.held.retain(|held| again.iter().all(|other| other.row != held.row));
        let retries = again.iter().map(|claimed| ActivityRetry {
            row: claimed.row,
            epoch: claimed.epoch,
            incarnation: self.worker,
            attempts: claimed.attempts + 1,
            last_failure: None,
            delay: Duration::ZERO,
            now: None,
        });
        let retries = retries.collect();
        Ok(self.provider.activity_retry(retries).await?.iter().filter(|answer| answer.is_ok()).count())
    }

    async fn sweep(&mut self) -> ProviderResult<usize> {
        let sweep = SweepParams { limit: 10, now: None };
        self.provider.lease_reap(sweep).await?;
        self.provider.due_sweep(sweep).await?;
        let renewal = LeaseRenewal {
            incarnation: Self::runs_owner(),
            instances: self.runs.iter().rev().map(|run| (run.instance, run.epoch)).collect(),
            activities: self.held.iter().map(|held| (held.row, held.epoch)).collect(),
            lease: Duration::from_hours(1),
            now: None,
        };
        let lost = self.provider.lease_renew(renewal).await?.lost_instances;
        assert!(lost.is_empty(), "{lost:?}");
        Ok(0)
    }

    /// The same new workflow ids from every side in any order, and builds that come and go.
    async fn start_and_register(&mut self) -> ProviderResult<usize> {
        let window = self.starts.fetch_add(1, Ordering::Relaxed) / 4;
        let ids: Vec<u64> = (0..12).map(|id| window * 12 + id).collect();
        let starts: Vec<StartRun> =
            self.dice.some(&ids).iter().map(|id| elsewhere(&format!("new-{id}"))).collect();
        for answer in self.provider.workflow_start(starts).await? {
            answer?;
        }
        let registration = WorkerRegistration {
            slot: None,
            incarnation: Incarnation::fresh(),
            build: durable_core::id::BuildId::new(format!("build-{}", self.dice.below(3))).unwrap(),
            now: None,
        };
        if self.number == 0 {
            let incarnation = registration.incarnation;
            self.provider.worker_register(registration).await?;
            self.provider.worker_deregister(incarnation).await?;
        }
        Ok(0)
    }
}

/// A start on a queue that nobody serves.
fn elsewhere(id: &str) -> StartRun {
    StartRun { queue: QueueName::new("elsewhere").unwrap(), ..start_params(id) }
}

/// G10: flushes, messages, outcomes, retries, claims, sweeps, starts and registrations over the same few runs, each
/// with its own order of things: no call fails for another's sake, and the server saw no deadlock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_in_opposite_orders_never_block_each_other_in_a_circle() {
    const ROUNDS: u32 = 400;
    let seed = seed();
    let database = Database::new();
    let provider = database.provider(|options| options.pool(8)).await;
    let owner = Incarnation(uuid::Uuid::from_u128(7));
    let runs = Arc::new(owned(&provider, owner, 20).await);
    let next = Arc::new(Mutex::new(runs.iter().map(|run| run.next_event).collect::<Vec<_>>()));
    let (barrier, starts) = (Arc::new(Barrier::new(8)), Arc::new(AtomicU64::new(0)));
    let hunters: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let mut hunter = Hunter {
                provider: provider.clone(),
                worker: Incarnation::fresh(),
                runs: runs.clone(),
                next: next.clone(),
                starts: starts.clone(),
                held: Vec::new(),
                dice: Dice(seed ^ (number + 1)),
                number,
            };
            let barrier = barrier.clone();
            tokio::spawn(async move {
                barrier.wait().await;
                let mut changed = 0;
                for round in 0..ROUNDS {
                    match hunter.call().await {
                        Ok(count) => changed += count,
                        Err(error) => panic!("hunter {number}, round {round}: {error}"),
                    }
                }
                changed
            })
        })
        .collect();
    let mut changed = 0;
    for hunter in hunters {
        changed += hunter.await.unwrap();
    }
    println!("{} calls, {changed} changes", u64::from(ROUNDS) * CONNECTIONS);
    assert!(changed > 1000, "{changed}");
    no_deadlock_was_logged(&database);
}

/// The log of a server that was given is not ours to read.
fn no_deadlock_was_logged(database: &Database) {
    if let Some(log) = database.server().log() {
        assert!(log.contains("ready to accept connections"), "this is not the server's log: {log}");
        assert!(!log.contains("deadlock detected"), "{log}");
    }
}

/// One run on a queue of its own, released beside messages again and again.
async fn race_releases(provider: PostgresProvider, number: u64, rounds: u64) {
    let queue = QueueName::new(format!("queue-{number}")).unwrap();
    let start = StartRun { queue: queue.clone(), ..start_params(&format!("run-{number}")) };
    provider.workflow_start(vec![start]).await.unwrap().remove(0).unwrap();
    let worker = Incarnation::fresh();
    let mut seen = InboxSeq(0);
    for round in 0..rounds {
        let claim = WorkflowClaim { queue: queue.clone(), ..claim_params(worker, 1) };
        let claimed = provider.workflow_claim(claim).await.unwrap();
        let [run] = claimed.runs.as_slice() else {
            panic!("run {number} sleeps beside a message in round {round}")
        };
        let unread: Vec<i64> = run.inbox.iter().map(|message| message.seq.0).collect();
        let expected: Vec<i64> = (seen.0 + 1..=seen.0 + i64::from(round > 0)).collect();
        assert_eq!(unread, expected, "run {number}, round {round}");
        seen = run.inbox.last().map_or(seen, |message| message.seq);
        let release = RunCommit {
            history: Vec::new(),
            consumed_through: seen,
            disposition: Disposition::Wait { wake_at: None },
            ..commit_params(run, run.next_event)
        };
        let cancel = provider.cancel_request(cancel_params(run.instance));
        let commit = commit(&provider, worker, vec![release]);
        // Polled first, sent first: each gets its turn.
        let (sent, released) = if round % 2 == 0 {
            tokio::join!(cancel, commit)
        } else {
            let (released, sent) = tokio::join!(commit, cancel);
            (sent, released)
        };
        assert_eq!(sent.unwrap(), SendOutcome::Accepted);
        released.unwrap().remove(0).unwrap();
    }
    assert_eq!(seen.0 + 1, i64::try_from(rounds).unwrap());
}

/// G6: rounds of a message beside a release, both orders, over eight connections: the run is always claimed
/// again, and brings exactly the messages that it has not seen. `DURABLE_TEST_ROUNDS=10000` makes a long hunt of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_race_releases_are_never_lost() {
    let rounds =
        std::env::var("DURABLE_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1600_u64);
    let database = Database::new();
    let provider = database.provider(|options| options.pool(8)).await;
    let races: Vec<_> = (0..CONNECTIONS)
        .map(|number| tokio::spawn(race_releases(provider.clone(), number, rounds / CONNECTIONS)))
        .collect();
    for race in races {
        race.await.unwrap();
    }
}

/// G6: the outcome of an activity row beside the release of its run, and the row's removal beside its outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcomes_that_race_releases_and_removals_are_messages_or_refusals() {
    let database = Database::new();
    let provider = database.provider(|options| options).await;
    let worker = Incarnation::fresh();
    provider.workflow_start(vec![start_params("run")]).await.unwrap().remove(0).unwrap();
    let mut refusals = 0;
    for round in 1..=300_u64 {
        let run = provider.workflow_claim(claim_params(worker, 1)).await.unwrap().runs.remove(0);
        let seen = run.inbox.last().map_or(InboxSeq(0), |message| message.seq);
        let make = RunCommit {
            activities: vec![ActivityChange::Insert(row(round))],
            consumed_through: seen,
            ..commit_params(&run, run.next_event)
        };
        let receipt = commit(&provider, worker, vec![make]).await.unwrap().remove(0).unwrap();
        let held = provider.activity_claim(claim_rows_params(worker)).await.unwrap().remove(0);
        let remove = round % 3 == 0;
        let release = RunCommit {
            history: Vec::new(),
            activities: if remove { vec![ActivityChange::Remove(CommandId(round))] } else { Vec::new() },
            disposition: if remove { Disposition::Yield } else { Disposition::Wait { wake_at: None } },
            ..commit_params(&run, receipt.next_event)
        };
        let settle = provider.activity_settle(vec![outcome(&held, worker)]);
        let (settled, released) = tokio::join!(settle, commit(&provider, worker, vec![release]));
        released.unwrap().remove(0).unwrap();
        let settled = settled.unwrap().remove(0);
        refusals += usize::from(settled.is_err());
        assert!(settled.is_ok() || remove, "{settled:?}");
        let again = provider.workflow_claim(claim_params(worker, 1)).await.unwrap().runs.remove(0);
        assert_eq!(again.inbox.len(), usize::from(settled.is_ok()), "round {round}");
        assert!(again.activity_rows.is_empty());
        let back = RunCommit {
            history: Vec::new(),
            consumed_through: again.inbox.last().map_or(InboxSeq(0), |message| message.seq),
            disposition: Disposition::Yield,
            ..commit_params(&again, again.next_event)
        };
        commit(&provider, worker, vec![back]).await.unwrap().remove(0).unwrap();
    }
    println!("{refusals} outcomes of 100 came after the removal");
}

/// G10: the same new workflow ids from both ends: one instance each, and no deadlock at the unique index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_of_the_same_ids_in_opposite_orders_meet_in_one() {
    let database = Database::new();
    let provider = database.provider(|options| options).await;
    for round in 0..10 {
        let barrier = Arc::new(Barrier::new(8));
        let starters: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let mut starts: Vec<_> = (0..200).map(|id| elsewhere(&format!("run-{round}-{id}"))).collect();
                if number % 2 == 0 {
                    starts.reverse();
                }
                let (provider, barrier) = (provider.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    let answers = provider.workflow_start(starts).await.unwrap();
                    answers
                        .into_iter()
                        .filter(|answer| matches!(answer, Ok(StartOutcome::Started(_))))
                        .count()
                })
            })
            .collect();
        let mut started = 0;
        for starter in starters {
            started += starter.await.unwrap();
        }
        assert_eq!(started, 200);
    }
    no_deadlock_was_logged(&database);
}

/// A start that asks to use what is there meets an instance that was started and closed between its look and its
/// insert: nothing runs twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_beside_a_whole_life_of_the_same_id_never_runs_it_again() {
    let database = Database::new();
    let provider = database.provider(|options| options).await;
    for round in 0..100 {
        let id = format!("run-{round}");
        let worker = Incarnation::fresh();
        let life = async {
            let answer = provider.workflow_start(vec![start_params(&id)]).await.unwrap().remove(0).unwrap();
            let StartOutcome::Started(_) = answer else { return };
            for run in provider.workflow_claim(claim_params(worker, 1)).await.unwrap().runs {
                let disposition = Disposition::Close { status: Status::Completed, outcome: Bytes::new() };
                let close = RunCommit { disposition, ..commit_params(&run, run.next_event) };
                commit(&provider, worker, vec![close]).await.unwrap().remove(0).unwrap();
            }
        };
        let rival = |delay: u32| {
            let (provider, id) = (provider.clone(), id.clone());
            async move {
                for _ in 0..delay {
                    tokio::task::yield_now().await;
                }
                provider.workflow_start(vec![start_params(&id)]).await.unwrap().remove(0).unwrap()
            }
        };
        let ((), ..) = tokio::join!(life, rival(round % 40), rival(round % 7));
        let text = format!("SELECT count(*) FROM \"{}\".instances WHERE workflow_id = $1", database.schema());
        let row = sqlx::query(AssertSqlSafe(text))
            .bind(&id)
            .fetch_one(&mut database.connect().await)
            .await
            .unwrap();
        assert_eq!(row.get::<i64, _>(0), 1, "{id}");
        for run in provider.workflow_claim(claim_params(worker, 9)).await.unwrap().runs {
            assert_eq!(run.workflow_id.as_str(), id);
        }
    }
}
