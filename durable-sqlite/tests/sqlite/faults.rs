//! All or nothing under real failures: after each row that a statement changes, at each instruction of each
//! statement, and at each page when the disk is full (cases 14 and 21).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use durable_core::provider::{ErrorKind, ProviderResult};
use durable_sqlite::{SqliteOptions, SqliteProvider};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, query, query_scalar, raw_sql};
use tempfile::TempDir;

use crate::dump::{Dumper, dump};
use crate::fixture::open_with;
use crate::world::{CALLS, Call, World};

/// Everything that a provider writes to.
const TABLES: [&str; 7] = ["instances", "runs", "history", "inbox", "inbox_dedup", "activities", "workers"];

/// Triggers that count the rows that change and fail at one of them. They are outside of the dump.
struct Trap {
    connection: SqliteConnection,
}

impl Trap {
    async fn set(path: &Path) -> Self {
        let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
        let mut script = "CREATE TABLE fault (left INTEGER NOT NULL, how TEXT NOT NULL);
            CREATE TABLE fault_log (change TEXT NOT NULL);
            INSERT INTO fault VALUES (1000000, 'none');"
            .to_owned();
        for table in TABLES {
            for change in ["INSERT", "UPDATE", "DELETE"] {
                write!(
                    script,
                    "CREATE TRIGGER fault_{change}_{table} AFTER {change} ON {table} BEGIN
                        UPDATE fault SET left = left - 1;
                        INSERT INTO fault_log VALUES ('{change} {table}');
                        SELECT RAISE(ABORT, 'injected') FROM fault WHERE left < 0 AND how = 'abort';
                        SELECT RAISE(FAIL, 'injected') FROM fault WHERE left < 0 AND how = 'fail';
                        SELECT RAISE(ROLLBACK, 'injected') FROM fault WHERE left < 0 AND how = 'rollback';
                    END;"
                )
                .unwrap();
            }
        }
        raw_sql(AssertSqlSafe(script)).execute(&mut connection).await.unwrap();
        Self { connection }
    }

    /// The next `left` changes pass, the one after them fails.
    async fn arm(&mut self, left: i64, how: &str) {
        query("DELETE FROM fault_log").execute(&mut self.connection).await.unwrap();
        query("UPDATE fault SET left = ?1, how = ?2")
            .bind(left)
            .bind(how)
            .execute(&mut self.connection)
            .await
            .unwrap();
    }

    /// What the last call that was not rolled back changed.
    async fn changes(&mut self) -> Vec<String> {
        query_scalar("SELECT change FROM fault_log").fetch_all(&mut self.connection).await.unwrap()
    }
}

/// Fails a call after each row that it changes, until it passes; returns what it changes.
async fn fail_at_each_change(call: Call, how: &str) -> Vec<String> {
    let (directory, path) = place();
    let provider = open_with(SqliteOptions::new(&path)).await;
    let world = World::new(&provider).await;
    let mut trap = Trap::set(&path).await;
    let mut dumper = Dumper::open(&path).await;
    let before = dumper.dump().await;
    for left in 0.. {
        trap.arm(left, how).await;
        match world.call(&provider, call).await {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{call:?} {how} {left}: {error}");
                assert!(dumper.dump().await == before, "{call:?} left something after {left} changes");
            }
        }
        assert!(left < 1000, "{call:?} never ends");
    }
    assert!(dumper.dump().await != before, "{call:?} did nothing");
    let changes = trap.changes().await;
    drop(directory);
    changes
}

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    (directory, path)
}

#[tokio::test]
async fn a_failure_after_each_change_of_a_commit_leaves_every_table_as_it_was() {
    for how in ["abort", "fail", "rollback"] {
        let changes = fail_at_each_change(Call::Commit, how).await;
        let kinds: BTreeSet<_> = changes.iter().map(String::as_str).collect();
        let expected = [
            "DELETE activities",
            "DELETE inbox",
            "DELETE inbox_dedup",
            "INSERT activities",
            "INSERT history",
            "INSERT runs",
            "UPDATE instances",
            "UPDATE runs",
        ];
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
        println!("{how}: a commit failed at each of its {} changes", changes.len());
    }
}

/// The test above speaks of every statement of a commit only as long as these are all.
#[test]
fn a_commit_has_these_statements() {
    let source = include_str!("../../src/workflow_commit.rs");
    let statements: BTreeSet<_> =
        source.split("sql!(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let expected = [
        "activity_insert",
        "activity_remove",
        "history_insert",
        "workflow_close_activities",
        "workflow_close_dedup",
        "workflow_close_inbox",
        "workflow_close_run",
        "workflow_commit",
        "workflow_commit_find",
        "workflow_commit_inbox",
        "workflow_continue_run",
    ];
    assert_eq!(statements.into_iter().collect::<Vec<_>>(), expected, "let `World` reach the new one too");
}

#[tokio::test]
async fn a_failure_after_each_change_of_any_other_write_leaves_every_table_as_it_was() {
    for call in CALLS.into_iter().filter(|&call| call != Call::Commit) {
        for how in ["abort", "fail"] {
            let changes = fail_at_each_change(call, how).await;
            assert!(changes.len() >= call.changes(), "{call:?} changed only {changes:?}");
        }
    }
}

/// Counts the writer's instructions and stops it at one of them.
#[derive(Debug, Clone)]
struct Fuse {
    left: Arc<AtomicI64>,
}

impl Fuse {
    fn new() -> (Self, impl Fn() -> bool + Send + Sync + 'static) {
        let fuse = Self { left: Arc::new(AtomicI64::new(i64::MAX)) };
        let left = Arc::clone(&fuse.left);
        (fuse, move || left.fetch_sub(1, Ordering::SeqCst) > 0)
    }

    /// Runs a call that is stopped after `instructions` of them.
    async fn blow(
        &self,
        instructions: i64,
        call: impl Future<Output = ProviderResult<()>>,
    ) -> ProviderResult<()> {
        self.left.store(instructions, Ordering::SeqCst);
        let answer = call.await;
        self.left.store(i64::MAX, Ordering::SeqCst);
        answer
    }
}

/// Stops a call at each instruction; returns at how many it was stopped, and whether the last stop came after the
/// commit took effect.
async fn stop_at_each_instruction(call: Call, stride: usize) -> (u32, u32) {
    let (directory, path) = place();
    let (fuse, hook) = Fuse::new();
    let provider = open_with(SqliteOptions::new(&path).instruction_hook(hook)).await;
    let world = World::new(&provider).await;
    let mut dumper = Dumper::open(&path).await;
    let before = dumper.dump().await;
    let (mut stopped, mut lost) = (0, 0);
    for instructions in (0..).step_by(stride) {
        match fuse.blow(instructions, world.call(&provider, call)).await {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{call:?} {instructions}: {error}");
                let now = dumper.dump().await;
                if now == before {
                    stopped += 1;
                    continue;
                }
                // COMMIT was carried out and its answer lost: the same flush finds itself and writes nothing.
                lost += 1;
                assert_whole(&world, &provider, call, &path, &now).await;
                break;
            }
        }
    }
    assert!(dumper.dump().await != before, "{call:?} did nothing");
    drop(directory);
    (stopped, lost)
}

async fn assert_whole(world: &World, provider: &SqliteProvider, call: Call, path: &Path, now: &str) {
    if call == Call::Commit {
        world.call(provider, call).await.unwrap();
        assert!(dump(path.to_owned()).await == *now, "a retry wrote again");
    }
    let (directory, other) = place();
    let control = open_with(SqliteOptions::new(&other)).await;
    let twin = World::new(&control).await;
    twin.call(&control, call).await.unwrap();
    let (here, there) = (shape(now), shape(&dump(other).await));
    assert_eq!(here, there, "{call:?} is half there");
    drop(directory);
}

/// How many rows each table holds.
fn shape(dump: &str) -> Vec<(String, usize)> {
    let mut tables: Vec<(String, usize)> = Vec::new();
    for line in dump.lines() {
        match tables.last_mut() {
            Some((_, rows)) if line.starts_with("  ") => *rows += 1,
            _ => tables.push((line.to_owned(), 0)),
        }
    }
    tables
}

#[tokio::test]
async fn a_commit_stopped_at_any_instruction_is_whole_or_absent() {
    let (stopped, lost) = stop_at_each_instruction(Call::Commit, 1).await;
    println!("a commit was stopped at each of {stopped} instructions, {lost} of them after it took effect");
    assert!(stopped > 100, "{stopped}");
    assert_eq!(lost, 1, "a lost answer to COMMIT is among them");
}

#[tokio::test]
async fn any_other_write_stopped_at_any_instruction_is_whole_or_absent() {
    for call in CALLS.into_iter().filter(|&call| call != Call::Commit) {
        let (stopped, _) = stop_at_each_instruction(call, 7).await;
        assert!(stopped > 10, "{call:?}: {stopped}");
    }
}

#[tokio::test]
async fn a_disk_that_is_full_at_any_page_of_a_commit_leaves_every_table_as_it_was() {
    let (_directory, path) = place();
    let provider = open_with(SqliteOptions::new(&path)).await;
    let world = World::new(&provider).await;
    let before = dump(path.clone()).await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let pages: u32 = query_scalar("PRAGMA page_count").fetch_one(&mut connection).await.unwrap();
    let mut refused = 0;
    for room in 0..200 {
        let small = open_with(SqliteOptions::new(&path).max_page_count(pages + room)).await;
        match world.large_commit(&small).await {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                assert!(dump(path.clone()).await == before, "with room for {room} pages");
                refused += 1;
            }
        }
    }
    assert!(refused > 10, "{refused}");
    assert!(dump(path).await != before);
}

/// Rows of history are never overwritten, whatever the head believes (case 19).
#[tokio::test]
async fn the_same_first_event_twice_is_refused_by_the_table_itself() {
    let (_directory, path) = place();
    let provider = open_with(SqliteOptions::new(&path)).await;
    let world = World::new(&provider).await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let copy = "INSERT INTO history SELECT run_id, first_event_id, 99, x'00' FROM history LIMIT 1";
    let error = query(copy).execute(&mut connection).await.unwrap_err();
    assert!(error.as_database_error().unwrap().is_unique_violation(), "{error}");
    // Rows that lie ahead of the head: the commit would write events 2 and 3 there.
    let ahead = "INSERT INTO history SELECT current_run, 3, 4, x'00' FROM instances WHERE workflow_id = 'a'";
    query(ahead).execute(&mut connection).await.unwrap();
    let before = dump(path.clone()).await;
    let error = world.call(&provider, Call::Commit).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(dump(path).await == before);
}
