//! One writer connection and a few readers.
//!
//! A connection is taken out of its place while it works and put back only when it is known to be clean.
//! A future that is dropped in the middle drops the connection with it: SQLite then rolls back, and the
//! next caller opens a new one. Nothing can leave a half-open transaction behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use durable_core::provider::ProviderResult;
use durable_core::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions as _, query, query_scalar};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::{Attempt, Failure, explain, primary_code};
use crate::options::SqliteOptions;
use crate::sql;

/// The place of one connection; empty until it is first needed and after it was lost.
type Place = Arc<Mutex<Option<SqliteConnection>>>;

/// All connections of one provider.
#[derive(Debug)]
pub(crate) struct Connections {
    options: SqliteOptions,
    writer: Place,
    readers: Vec<Place>,
    next_reader: AtomicUsize,
}

/// A connection that is out of its place.
#[derive(Debug)]
pub(crate) struct Lent {
    /// The connection itself.
    pub(crate) connection: SqliteConnection,
    place: OwnedMutexGuard<Option<SqliteConnection>>,
}

/// An open write transaction. Dropped without [`Connections::finish`] it is rolled back.
#[derive(Debug)]
pub(crate) struct WriteTransaction {
    lent: Lent,
    /// The database's clock, read under the write lock.
    pub(crate) now: Timestamp,
}

impl WriteTransaction {
    /// The connection that holds the write lock.
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.lent.connection
    }
}

impl Lent {
    /// Puts a clean connection back.
    pub(crate) fn give_back(mut self) {
        *self.place = Some(self.connection);
    }
}

impl Connections {
    /// Opens the writer, and with it the file.
    pub(crate) async fn open(options: SqliteOptions) -> ProviderResult<Self> {
        let readers = (0..options.reader_count()).map(|_| Place::default()).collect();
        let connections =
            Self { options, writer: Place::default(), readers, next_reader: AtomicUsize::new(0) };
        match connections.lend_writer().await {
            Ok(lent) => lent.give_back(),
            Err(failure) => return Err(explain(connections.options.path(), failure)),
        }
        Ok(connections)
    }

    pub(crate) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Begins a write transaction: waits for the write lock, then reads the clock (G7).
    pub(crate) async fn begin(&self, now: Option<Timestamp>) -> ProviderResult<WriteTransaction> {
        let attempt = async {
            let mut lent = self.lend_writer().await?;
            // One call of the driver: each is a message to its thread and one back.
            let begun = query_scalar(concat!("BEGIN IMMEDIATE;\n", sql!("clock_read")))
                .bind(now.map(Timestamp::as_micros));
            match begun.fetch_one(&mut lent.connection).await {
                Ok(now) => Ok(WriteTransaction { lent, now: Timestamp::from_micros(now) }),
                Err(error) => {
                    // Busy means that no transaction was begun: reading the clock locks nothing. After any other
                    // answer one may be open: the connection goes, and with it the lock.
                    if matches!(primary_code(&error), Some(5 | 6)) {
                        lent.give_back();
                    }
                    Err(Failure::from(error))
                }
            }
        };
        attempt.await.map_err(|failure| explain(self.options.path(), failure))
    }

    /// Commits what went well, rolls back what did not.
    pub(crate) async fn finish<T>(
        &self,
        mut transaction: WriteTransaction,
        result: Attempt<T>,
    ) -> ProviderResult<T> {
        let result = match result {
            Ok(value) => {
                query("COMMIT").execute(transaction.connection()).await.map(|_| value).map_err(Failure::from)
            }
            Err(failure) => Err(failure),
        };
        if result.is_ok() {
            transaction.lent.give_back();
        } else {
            // SQLite rolls back by itself on some errors (a full disk): then there is nothing to roll back,
            // which it calls an error. Any other answer means that the connection cannot be trusted.
            match query("ROLLBACK").execute(transaction.connection()).await {
                Ok(_) => transaction.lent.give_back(),
                Err(error) if primary_code(&error) == Some(1) => transaction.lent.give_back(),
                Err(_) => {}
            }
        }
        result.map_err(|failure| explain(self.options.path(), failure))
    }

    /// Lends a reader.
    pub(crate) async fn lend_reader(&self) -> ProviderResult<Lent> {
        let start = self.next_reader.fetch_add(1, Ordering::Relaxed);
        let count = self.readers.len();
        let free =
            (0..count).find_map(|step| self.readers[(start + step) % count].clone().try_lock_owned().ok());
        let mut place = match free {
            Some(place) => place,
            None => self.readers[start % count].clone().lock_owned().await,
        };
        let connection = match place.take() {
            Some(connection) => connection,
            None => self
                .options
                .reader()
                .connect()
                .await
                .map_err(|error| explain(self.options.path(), Failure::Database(error)))?,
        };
        Ok(Lent { connection, place })
    }

    /// Gives a reader back after its work; after a failure only if the database itself raised it.
    pub(crate) fn end_read<T>(&self, lent: Lent, result: Attempt<T>) -> ProviderResult<T> {
        let broken = matches!(&result, Err(Failure::Database(error)) if primary_code(error).is_none());
        if !broken {
            lent.give_back();
        }
        result.map_err(|failure| explain(self.options.path(), failure))
    }

    async fn lend_writer(&self) -> Attempt<Lent> {
        let mut place = self.writer.clone().lock_owned().await;
        let connection = match place.take() {
            Some(connection) => connection,
            None => self.open_writer().await?,
        };
        Ok(Lent { connection, place })
    }

    async fn open_writer(&self) -> Attempt<SqliteConnection> {
        let mut connection = self.options.writer().connect().await?;
        if !self.options.is_read_only() {
            enter_wal(&mut connection).await?;
        }
        if let Some(hook) = self.options.hook() {
            connection.lock_handle().await?.set_progress_handler(1, move || hook.ask());
        }
        Ok(connection)
    }
}

/// Switches the file to a write-ahead log. SQLite does not wait for other processes here, so each refusal
/// is followed by a transaction, which does wait.
async fn enter_wal(connection: &mut SqliteConnection) -> Attempt<()> {
    const TRIES: u32 = 100;
    for attempt in 1..=TRIES {
        match query_scalar::<_, String>("PRAGMA journal_mode = WAL").fetch_one(&mut *connection).await {
            Ok(_) => break,
            Err(error) if matches!(primary_code(&error), Some(5 | 6)) && attempt < TRIES => {
                query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
                query("ROLLBACK").execute(&mut *connection).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The database's clock, or the test clock.
pub(crate) async fn clock_read(
    connection: &mut SqliteConnection,
    now: Option<Timestamp>,
) -> Attempt<Timestamp> {
    let micros: i64 =
        query_scalar(sql!("clock_read")).bind(now.map(Timestamp::as_micros)).fetch_one(connection).await?;
    Ok(Timestamp::from_micros(micros))
}
