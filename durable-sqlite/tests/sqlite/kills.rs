//! Processes killed at any moment, and calls whose caller goes away (cases 18 and 21).

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use durable_core::id::{CommandId, EventId, InboxSeq, Incarnation, InstanceId, RequestId, WorkflowId};
use durable_core::provider::{
    ActivityChange, BlockChange, CancelRequest, ClaimedRun, CommitBatch, Disposition, HistoryRead, Inbox,
    InboxRead, Inspect, RunCommit, WorkflowStore,
};
use durable_sqlite::SqliteProvider;
use durable_testkit::random::SplitMix;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, query, query_as, query_scalar};

use crate::dump::dump;
use crate::fixture::{batch, claim, open, start};
use crate::processes::{lines, say, spawn};
use crate::world::{empty, row};

/// Turn number `turn` of a run: everything that it writes carries its number.
fn turn_commit(run: &ClaimedRun, turn: u64) -> RunCommit {
    let next = turn * 2;
    RunCommit {
        expected_next: EventId(next),
        history: vec![batch(next, 1, 2000), batch(next + 1, 1, 2000)],
        consumed_through: InboxSeq(i64::try_from(turn).unwrap()),
        activities: vec![ActivityChange::Insert(row(turn + 1)), ActivityChange::Remove(CommandId(turn))],
        progress: true,
        block: BlockChange::Set {
            reason: format!("turn {turn}"),
            build: durable_core::id::BuildId::new("b1").unwrap(),
        },
        ..empty(run)
    }
}

async fn message(provider: &SqliteProvider, instance: InstanceId) {
    let request =
        CancelRequest { instance, reason: "again".to_owned(), request_id: RequestId::fresh(), now: None };
    provider.cancel_request(request).await.unwrap();
}

/// What the child does until it is killed: a message, a turn that consumes it, a word to the parent.
pub(crate) async fn turns(provider: &SqliteProvider) {
    let worker = Incarnation::fresh();
    let run = claim(provider, worker, 1).await.unwrap().runs.remove(0);
    say("ready");
    for turn in 1.. {
        message(provider, run.instance).await;
        let lease = Duration::from_hours(1);
        let commits = vec![turn_commit(&run, turn)];
        let batch = CommitBatch { incarnation: worker, commits, lease, now: None };
        provider.workflow_commit(batch).await.unwrap().remove(0).unwrap();
        say(turn);
    }
}

/// Checks that a run is exactly at the end of one of its turns, and returns which.
async fn whole_turn(provider: &SqliteProvider, path: &Path, id: &str) -> u64 {
    let view = provider.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().unwrap();
    assert_eq!(view.events % 2, 1, "half a turn: {} events", view.events);
    let turn = view.events / 2;
    let read = HistoryRead { run_id: view.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    assert_eq!(provider.history_read(read).await.unwrap().rows.len() as u64, 1 + turn * 2);
    let reason = view.blocked.map(|blocked| blocked.reason);
    assert_eq!(reason, (turn > 0).then(|| format!("turn {turn}")));
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    let rows: Vec<i64> = query_scalar("SELECT command_id FROM activities WHERE instance_id = ?1")
        .bind(view.instance.0)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let expected: Vec<_> = (turn > 0).then(|| i64::try_from(turn + 1).unwrap()).into_iter().collect();
    assert_eq!(rows, expected);
    let seq = messages(&mut connection, view.instance).await;
    let unread =
        provider.inbox_read(InboxRead { instance: view.instance, after: InboxSeq(0) }).await.unwrap();
    let unread: Vec<_> = unread.iter().map(|message| message.seq.0).collect();
    let turn_seq = i64::try_from(turn).unwrap();
    assert_eq!(unread, (turn_seq + 1..=seq).collect::<Vec<_>>());
    assert!(seq == turn_seq || seq == turn_seq + 1, "{seq} messages after {turn} turns");
    let sound: String = query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(sound, "ok");
    turn
}

/// The number of messages ever sent to an instance; each has left its dedup key.
async fn messages(connection: &mut SqliteConnection, instance: InstanceId) -> i64 {
    let (seq, keys): (i64, i64) = query_as(
        "SELECT inbox_seq, (SELECT count(*) FROM inbox_dedup WHERE instance_id = ?1) FROM instances WHERE id = ?1",
    )
    .bind(instance.0)
    .fetch_one(connection)
    .await
    .unwrap();
    assert_eq!(keys, seq, "half a message");
    seq
}

#[tokio::test]
async fn a_process_killed_at_random_moments_leaves_whole_turns_and_every_acknowledged_one() {
    const KILLS: u32 = 40;
    let seed = SplitMix::fresh_seed();
    println!("seed {seed}");
    let mut random = SplitMix::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    let (mut total, mut unheard) = (0, 0);
    for kill in 0..KILLS {
        let id = format!("run-{kill}");
        start(&provider, &id, 1).await.unwrap();
        let mut child = spawn("turns", &path);
        let mut said = lines(&mut child);
        let heard = random.below(6);
        for _ in 0..=heard {
            said.next().unwrap();
        }
        // Somewhere in the next two or three writes.
        for _ in 0..random.below(1_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died and nobody had read yet is acknowledged too.
        let acknowledged = heard as u64 + said.filter(|line| !line.is_empty()).count() as u64;
        let turn = whole_turn(&provider, &path, &id).await;
        assert!(
            turn == acknowledged || turn == acknowledged + 1,
            "{turn} turns of {acknowledged} acknowledged, seed {seed}"
        );
        total += turn;
        unheard += u32::from(turn > acknowledged);
    }
    println!("{KILLS} kills, {total} turns, {unheard} stored and not yet acknowledged");
}

/// Every await of a commit is a place where its caller may go away, or the answer be lost: the same flush, from
/// another connection, finds out whether it landed.
#[tokio::test]
async fn a_commit_dropped_at_any_point_is_resolved_by_its_flush_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let (provider, other) = (open(&path).await, open(&path).await);
    let (mut landed, mut absent, mut finished) = (0, 0, false);
    for polls in 1.. {
        let id = format!("run-{polls}");
        start(&provider, &id, 1).await.unwrap();
        let worker = Incarnation::fresh();
        let run = claim(&provider, worker, 1).await.unwrap().runs.remove(0);
        message(&provider, run.instance).await;
        let commit = RunCommit { disposition: Disposition::Yield, ..turn_commit(&run, 1) };
        let batch = || CommitBatch {
            incarnation: worker,
            commits: vec![commit.clone()],
            lease: Duration::from_hours(1),
            now: None,
        };
        {
            let mut call = pin!(provider.workflow_commit(batch()));
            let mut left = polls;
            poll_fn(|context| {
                finished = call.as_mut().poll(context).is_ready();
                left -= 1;
                if finished || left == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        quiet(&path).await;
        let before = dump(path.clone()).await;
        let was_there = whole_turn(&other, &path, &id).await == 1;
        let receipt = other.workflow_commit(batch()).await.unwrap().remove(0).unwrap();
        assert_eq!(receipt.next_event, EventId(4));
        assert_eq!(whole_turn(&other, &path, &id).await, 1);
        if was_there {
            landed += 1;
            assert!(dump(path.clone()).await == before, "the retry wrote again");
        } else {
            absent += 1;
        }
        claim(&other, worker, 1).await.unwrap();
        if finished {
            break;
        }
    }
    println!("{landed} commits had landed, {absent} had not");
    assert!(landed > 0 && absent > 0, "{landed} {absent}");
}

/// Returns once no writer is at work any more.
async fn quiet(path: &Path) {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
    query("ROLLBACK").execute(&mut connection).await.unwrap();
}
