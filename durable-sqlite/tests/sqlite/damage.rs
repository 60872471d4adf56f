//! Files that are damaged, full, read-only, newer or not there.

use std::path::Path;

use durable_core::id::{EventId, Incarnation, WorkflowId};
use durable_core::provider::{ErrorKind, HistoryRead, Inspect, ProviderError, Schema, StartOutcome};
use durable_sqlite::{SqliteOptions, SqliteProvider, Synchronous};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::fixture::{claim, commit, open, open_with, start};

/// Runs a statement behind the provider's back.
async fn meddle(path: &Path, statement: &'static str) {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
}

fn assert_names(error: &ProviderError, kind: ErrorKind, path: &Path) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "these are notes, no database\n".repeat(500)).unwrap();
    let error = SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap_err();
    assert_names(&error, ErrorKind::Corrupt, &path);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("these are notes"));
}

#[tokio::test]
async fn damaged_pages_are_reported_as_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    for number in 0..50 {
        start(&provider, &format!("run-{number}"), 3000).await.unwrap();
    }
    drop(provider);
    meddle(&path, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = match SqliteProvider::open(SqliteOptions::new(&path)).await {
        Ok(provider) => claim(&provider, Incarnation::fresh(), 10).await.unwrap_err(),
        Err(error) => error,
    };
    assert_names(&error, ErrorKind::Corrupt, &path);
}

#[tokio::test]
async fn a_lost_history_row_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    start(&provider, "run", 10).await.unwrap();
    let worker = Incarnation::fresh();
    let run = claim(&provider, worker, 1).await.unwrap().runs.remove(0);
    for event in 2..=6 {
        commit(&provider, worker, &run, EventId(event), 10).await.unwrap();
    }
    let read = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
    assert_eq!(provider.history_read(read).await.unwrap().rows.len(), 6);
    for (statement, says) in [
        ("DELETE FROM history WHERE first_event_id = 6", "lacks events 6 to 6"),
        ("DELETE FROM history WHERE first_event_id IN (3, 4)", "lacks events 3 to 4"),
        ("DELETE FROM history WHERE first_event_id = 1", "lacks events 1 to 1"),
        (
            "UPDATE history SET first_event_id = 1, next_event_id = 4 WHERE first_event_id = 2",
            "lacks events 4 to 4",
        ),
        ("UPDATE history SET next_event_id = 6 WHERE first_event_id = 1", "rows overlap"),
    ] {
        meddle(&path, statement).await;
        let error = provider.history_read(read).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn a_read_only_database_reads_and_refuses_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    start(&provider, "run", 10).await.unwrap();
    let url = format!("sqlite:{}?mode=ro", path.display());
    let reader = SqliteProvider::connect(&url).await.unwrap();
    reader.migrate().await.unwrap();
    let id = WorkflowId::new("run").unwrap();
    assert!(reader.instance_find(&id).await.unwrap().is_some());
    let error = start(&reader, "other", 10).await.unwrap_err();
    assert_names(&error, ErrorKind::ReadOnly, &path);
    assert_names(&claim(&reader, Incarnation::fresh(), 1).await.unwrap_err(), ErrorKind::ReadOnly, &path);
    assert!(reader.instance_find(&id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let small = open_with(SqliteOptions::new(&path).max_page_count(120)).await;
    let worker = Incarnation::fresh();
    start(&small, "long", 10).await.unwrap();
    let run = claim(&small, worker, 1).await.unwrap().runs.remove(0);
    let (mut next, mut refusals) = (run.next_event, 0);
    let mut started = Vec::new();
    for number in 0..200 {
        let id = format!("run-{number}");
        match start(&small, &id, 2000).await {
            Ok(_) => started.push(id),
            Err(error) => {
                assert_names(&error, ErrorKind::StorageFull, &path);
                refusals += 1;
            }
        }
        match commit(&small, worker, &run, next, 5000).await {
            Ok(receipt) => next = receipt.next_event,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                refusals += 1;
            }
        }
        if refusals > 20 {
            break;
        }
    }
    assert!(refusals > 20 && next > run.next_event && !started.is_empty());
    let large = open(&path).await;
    for provider in [&small, &large] {
        let page = HistoryRead { run_id: run.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        assert_eq!(provider.history_read(page).await.unwrap().rows.len() as u64, next.0 - 1);
        for id in &started {
            assert!(provider.instance_find(&WorkflowId::new(id.as_str()).unwrap()).await.unwrap().is_some());
        }
    }
    let receipt = commit(&large, worker, &run, next, 5000).await.unwrap();
    assert_eq!(receipt.next_event, next.next());
    assert_eq!(claim(&large, worker, 1000).await.unwrap().runs.len(), started.len());
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    drop(open(&path).await);
    meddle(&path, "INSERT INTO durable_migrations (version, applied_at) VALUES (99, 0)").await;
    meddle(&path, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    let before = std::fs::read(&path).unwrap();
    let provider = SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap();
    let error = provider.migrate().await.unwrap_err();
    assert_names(&error, ErrorKind::SchemaVersion, &path);
    assert!(error.to_string().contains("version 99"), "{error}");
    drop(provider);
    meddle(&path, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_database_that_was_never_migrated_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap();
    let error = start(&provider, "run", 1).await.unwrap_err();
    assert_names(&error, ErrorKind::SchemaVersion, &path);
    assert!(error.to_string().contains("migrate"), "{error}");
    provider.migrate().await.unwrap();
    start(&provider, "run", 1).await.unwrap();
}

#[tokio::test]
async fn bad_addresses_are_refused_with_what_to_write_instead() {
    for (url, says) in [
        ("postgres://localhost/x", "sqlite:path"),
        ("sqlite::memory:", "name a file"),
        ("sqlite://?mode=memory", "name a file"),
        ("sqlite:", "name a file"),
        ("sqlite:x.db?mode=mumble", "mumble"),
        ("sqlite:x.db?speed=high", "speed"),
    ] {
        let error = SqliteProvider::connect(url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
        assert!(error.to_string().contains(says), "{url}: {error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("nowhere").join("durable.db");
    let error = SqliteProvider::open(SqliteOptions::new(&missing)).await.unwrap_err();
    assert_names(&error, ErrorKind::Unavailable, &missing);
    let url = format!("sqlite:{}?mode=rw", directory.path().join("absent.db").display());
    let error = SqliteProvider::connect(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn any_path_is_a_database() {
    let directory = tempfile::tempdir().unwrap();
    for (address, file) in
        [("a b.db", "a b.db"), ("what%3F %23.db", "what? #.db"), ("📦'.db", "📦'.db"), ("x%25y.db", "x%y.db")]
    {
        let url = format!("sqlite:{}/{address}", directory.path().display());
        let provider = SqliteProvider::connect(&url).await.unwrap();
        provider.migrate().await.unwrap();
        start(&provider, "run", 1).await.unwrap();
        assert!(directory.path().join(file).exists(), "{file}");
        assert!(provider.describe().ends_with(file));
    }
}

#[tokio::test]
async fn commits_are_synchronous_unless_asked_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let normal = open_with(SqliteOptions::new(&path).synchronous(Synchronous::Normal).readers(0)).await;
    assert!(matches!(start(&normal, "run", 1).await.unwrap(), StartOutcome::Started(_)));
    assert!(matches!(start(&normal, "run", 1).await.unwrap(), StartOutcome::Existing(_)));
    let id = WorkflowId::new("run").unwrap();
    assert!(normal.instance_find(&id).await.unwrap().is_some());
    assert_eq!(Synchronous::default(), Synchronous::Full);
}
