//! A bounded pool of connections.
//!
//! A connection is taken out of the pool while it works and put back only when it is known to be clean. A
//! future that is dropped in the middle drops the connection with it: the server then rolls back, and the next
//! caller opens a new one. Nothing can leave a half-open transaction behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use durable_core::time::Timestamp;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, query, query_scalar, raw_sql};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Attempt, Failure, explain, sqlstate};
use crate::options::PostgresOptions;
use crate::statements::Statements;

/// All connections of one provider, but for those that only show that a worker lives.
#[derive(Debug)]
pub(crate) struct Connections {
    options: PostgresOptions,
    statements: Statements,
    idle: Mutex<Vec<PgConnection>>,
    places: Arc<Semaphore>,
}

/// A connection that is out of the pool.
#[derive(Debug)]
pub(crate) struct Lent {
    /// The connection itself.
    pub(crate) connection: PgConnection,
    _place: OwnedSemaphorePermit,
}

/// An open transaction. Dropped without [`Connections::finish`] it is rolled back.
#[derive(Debug)]
pub(crate) struct Transaction {
    lent: Lent,
}

impl Transaction {
    /// The connection that is in the transaction.
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.lent.connection
    }
}

impl Connections {
    /// Opens the first connection.
    pub(crate) async fn open(options: PostgresOptions) -> ProviderResult<Self> {
        let connections = Self {
            statements: Statements::render(options.schema_name()),
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(options.pool_size())),
            options,
        };
        let lent = connections.lend().await?;
        connections.give_back(lent);
        Ok(connections)
    }

    pub(crate) fn options(&self) -> &PostgresOptions {
        &self.options
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.statements
    }

    /// Says what a failure means, naming this database.
    pub(crate) fn explain(&self, failure: Failure) -> ProviderError {
        explain(&self.options.describe(), failure)
    }

    /// A new connection outside the pool, prepared like every other.
    pub(crate) async fn connect(&self) -> Attempt<PgConnection> {
        let mut connection = self.options.connection().connect().await?;
        query(self.statements.session_prepare.clone())
            .bind(self.options.lock_timeout_text())
            .execute(&mut connection)
            .await?;
        Ok(connection)
    }

    /// Lends a connection for statements that each are a transaction of their own.
    pub(crate) async fn lend(&self) -> ProviderResult<Lent> {
        let closed = || ProviderError::new(ErrorKind::Unavailable, "the pool of connections is closed");
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().await.map_err(|failure| self.explain(failure))?,
        };
        Ok(Lent { connection, _place: place })
    }

    /// Gives a connection back after its work, unless the failure is one that it does not survive.
    pub(crate) fn end<T>(&self, lent: Lent, result: Attempt<T>) -> ProviderResult<T> {
        match &result {
            Err(failure) if !failure.spares_connection() => self.distrust(failure),
            _ => self.give_back(lent),
        }
        result.map_err(|failure| self.explain(failure))
    }

    /// Begins a transaction. A connection that turns out to be dead here has written nothing, so the next one is
    /// tried, and a new one in the end: a restart of the server goes unnoticed by whoever was idle.
    pub(crate) async fn begin(&self) -> ProviderResult<Transaction> {
        loop {
            let mut lent = self.lend().await?;
            match raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED").execute(&mut lent.connection).await {
                Ok(_) => return Ok(Transaction { lent }),
                Err(error) => {
                    let failure = Failure::from(error);
                    let stale = !failure.spares_connection() && !self.idle().is_empty();
                    let refused = self.end::<()>(lent, Err(failure));
                    if let (false, Err(error)) = (stale, refused) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Commits what went well, rolls back what did not.
    pub(crate) async fn finish<T>(
        &self,
        mut transaction: Transaction,
        result: Attempt<T>,
    ) -> ProviderResult<T> {
        let result = match result {
            Ok(value) => raw_sql("COMMIT")
                .execute(transaction.connection())
                .await
                .map(|_| value)
                .map_err(Failure::from),
            Err(failure) if failure.spares_connection() => {
                match raw_sql("ROLLBACK").execute(transaction.connection()).await {
                    Ok(_) => Err(failure),
                    // The refusal stands, and the connection goes.
                    Err(_) => return Err(self.explain(failure)),
                }
            }
            Err(failure) => Err(failure),
        };
        self.end(transaction.lent, result)
    }

    fn give_back(&self, lent: Lent) {
        self.idle().push(lent.connection);
    }

    /// The connection is dropped by its caller. If the server went away, the idle ones are as dead.
    fn distrust(&self, failure: &Failure) {
        if matches!(failure, Failure::Database(error) if sqlstate(error).as_deref() != Some("0A000")) {
            self.idle().clear();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The database's clock, or the test clock.
pub(crate) async fn clock_read(
    statements: &Statements,
    connection: &mut PgConnection,
    now: Option<Timestamp>,
) -> Attempt<Timestamp> {
    let micros: i64 = query_scalar(statements.clock_read.clone())
        .bind(now.map(Timestamp::as_micros))
        .fetch_one(connection)
        .await?;
    Ok(Timestamp::from_micros(micros))
}
