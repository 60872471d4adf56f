//! The floor: what the same database does on the same file system, with the same driver and the same pragmas,
//! when nothing but the row itself is written.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use durable_core::time::Clock as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, query, query_scalar};

use crate::sample::{Floor, median, part};
use crate::workloads::Sizes;
use crate::{Bench, cpu};

/// Rows in one commit of the second measurement.
const ROWS: u64 = 100;
/// About what one event takes.
const ROW: [u8; 100] = [b'x'; 100];
const INSERT: &str = "INSERT INTO bare (bytes) VALUES (?1)";

impl Bench {
    /// Measures the floor in a fresh database.
    pub(crate) async fn floor(&self, sizes: &Sizes, folder: &Path) -> Result<Floor> {
        let file = folder.join("floor.db");
        // As the provider opens its writer; statements are not counted here and cost no event.
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5))
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        let connection = &mut connection;
        query("CREATE TABLE bare (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")
            .execute(&mut *connection)
            .await?;
        insert(connection).await?;
        let (commits, cpu_before) = (sizes.floor_commits, cpu::used());
        let mut single = Vec::new();
        for _ in 0..commits {
            let begun = self.clock.elapsed();
            insert(connection).await?;
            single.push(self.since(begun));
        }
        let commit_cpu = cpu::used().saturating_sub(cpu_before);
        let mut transactions = Vec::new();
        for _ in 0..commits {
            let begun = self.clock.elapsed();
            transaction(connection, 1).await?;
            transactions.push(self.since(begun));
        }
        let mut batches = Vec::new();
        for _ in 0..sizes.floor_batches {
            let begun = self.clock.elapsed();
            transaction(connection, ROWS).await?;
            batches.push(self.since(begun));
        }
        check(connection, 1 + 2 * commits + sizes.floor_batches * ROWS).await?;
        Ok(Floor {
            commit: median(single).unwrap_or_default(),
            transaction: median(transactions).unwrap_or_default(),
            row: part(median(batches).unwrap_or_default(), ROWS),
            commit_cpu: part(commit_cpu, commits),
        })
    }
}

async fn insert(connection: &mut SqliteConnection) -> Result<()> {
    query(INSERT).bind(ROW.as_slice()).execute(connection).await?;
    Ok(())
}

async fn transaction(connection: &mut SqliteConnection, rows: u64) -> Result<()> {
    query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    for _ in 0..rows {
        insert(connection).await?;
    }
    query("COMMIT").execute(&mut *connection).await?;
    Ok(())
}

/// The rows are there and the pragmas are those that they are compared under.
async fn check(connection: &mut SqliteConnection, rows: u64) -> Result<()> {
    let found: i64 = query_scalar("SELECT count(*) FROM bare").fetch_one(&mut *connection).await?;
    ensure!(u64::try_from(found) == Ok(rows), "the floor holds {found} rows, {rows} were written");
    let journal: String = query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await?;
    let synchronous: i64 = query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
    ensure!(journal == "wal" && synchronous == 2, "journal {journal}, synchronous {synchronous}");
    connection.ping().await?;
    Ok(())
}
