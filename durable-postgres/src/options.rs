//! How a database is opened.

use std::str::FromStr;
use std::time::Duration;

use durable_core::limits::LEASE_DEFAULT;
use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

/// PostgreSQL cuts longer names off, silently.
const SCHEMA_MAX_BYTES: usize = 63;

/// How a database is opened. Build one with [`PostgresOptions::parse`].
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    connect: PgConnectOptions,
    schema: String,
    pool: usize,
    lock_timeout: Duration,
    takeover_delay: Duration,
}

impl PostgresOptions {
    /// From an address: `postgres://user:password@host:5432/database`, with libpq's parameters after `?`
    /// (`sslmode`, `host=/socket/directory`, …) and two of ours: `schema` (default `durable`) and `pool`
    /// (connections, default 8).
    ///
    /// # Errors
    ///
    /// `Invalid` for another scheme, a bad parameter or a bad schema name.
    pub fn parse(url: &str) -> ProviderResult<Self> {
        let invalid = |why: String| ProviderError::new(ErrorKind::Invalid, why);
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid(
                "this is no PostgreSQL address; write `postgres://user:password@host:5432/database`"
                    .to_owned(),
            ));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut pool, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("schema", value)) => schema = Some(unescaped(value)),
                Some(("pool", value)) => pool = Some(value),
                _ => rest.push(pair),
            }
        }
        let address = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        // The address may hold a password, so it is in no message.
        let connect = PgConnectOptions::from_str(&address).map_err(|error| {
            invalid(format!("the PostgreSQL address cannot be read: {error}; correct it"))
        })?;
        let mut options = Self {
            connect,
            schema: "durable".to_owned(),
            pool: 8,
            lock_timeout: Duration::from_millis(250),
            takeover_delay: LEASE_DEFAULT / 3,
        };
        if let Some(schema) = schema {
            options = options.schema(schema)?;
        }
        if let Some(pool) = pool {
            let size = pool.parse::<usize>().ok().filter(|size| *size >= 1);
            let bad = || invalid(format!("`pool={pool}` is no number of connections; write 1 or more"));
            options = options.pool(size.ok_or_else(bad)?);
        }
        Ok(options)
    }

    /// The schema that holds the tables; made by the first migration. `durable` by default.
    ///
    /// # Errors
    ///
    /// `Invalid` for a name that PostgreSQL would change or refuse.
    pub fn schema(mut self, name: impl Into<String>) -> ProviderResult<Self> {
        let name = name.into();
        if name.is_empty() || name.len() > SCHEMA_MAX_BYTES || name.contains('\0') || name.starts_with("pg_")
        {
            let message = format!(
                "{name:?} cannot be the name of a schema: it must be 1 to {SCHEMA_MAX_BYTES} bytes without NUL and \
                 not begin with `pg_`; choose another one"
            );
            return Err(ProviderError::new(ErrorKind::Invalid, message));
        }
        self.schema = name;
        Ok(self)
    }

    /// Connections for statements, opened when first needed; 8 by default, at least 1, which is enough for
    /// everything. A worker holds one more for its liveness.
    #[must_use]
    pub fn pool(mut self, connections: usize) -> Self {
        self.pool = connections.max(1);
        self
    }

    /// How long a statement waits for a locked row before it is `Busy`; 250 ms by default, zero waits for ever.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// How long after the end of a worker's liveness connection its claims are freed for the successor in its
    /// slot: one renewal interval, within which a worker that only lost the connection finds out. A third of
    /// the default lease by default; set it to a third of your workers' lease.
    #[must_use]
    pub fn takeover_delay(mut self, delay: Duration) -> Self {
        self.takeover_delay = delay;
        self
    }

    pub(crate) fn schema_name(&self) -> &str {
        &self.schema
    }

    pub(crate) fn pool_size(&self) -> usize {
        self.pool
    }

    pub(crate) fn lock_timeout_text(&self) -> String {
        format!("{}ms", self.lock_timeout.as_millis().min(i32::MAX as u128))
    }

    pub(crate) fn takeover_delay_micros(&self) -> i64 {
        durable_core::time::micros(self.takeover_delay)
    }

    /// For one connection.
    pub(crate) fn connection(&self) -> PgConnectOptions {
        let options = self.connect.clone().statement_cache_capacity(200).disable_statement_logging();
        match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("durable"),
        }
    }

    /// A name for messages, without the password.
    pub(crate) fn describe(&self) -> String {
        let place = match self.connect.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => self.connect.get_host().to_owned(),
        };
        let database = self.connect.get_database().unwrap_or_else(|| self.connect.get_username());
        format!("postgres://{place}:{}/{database} (schema {:?})", self.connect.get_port(), self.schema)
    }
}

/// `%20` and the like as the bytes that they stand for.
fn unescaped(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(byte) = code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_schema_and_pool() {
        let options =
            PostgresOptions::parse("postgres://me:secret@db:6543/app?schema=a%20%22b&pool=3&sslmode=disable")
                .unwrap();
        assert_eq!((options.schema_name(), options.pool_size()), ("a \"b", 3));
        assert_eq!(options.describe(), "postgres://db:6543/app (schema \"a \\\"b\")");
        assert_eq!(PostgresOptions::parse("postgresql://db/app").unwrap().schema_name(), "durable");
        assert_eq!(unescaped("100%"), "100%");
    }

    #[test]
    fn a_bad_address_is_refused_without_its_password() {
        for (url, says) in [
            ("sqlite:orders.db", "postgres://user"),
            ("postgres://me:secret@db:port/app", "cannot be read"),
            ("postgres://me:secret@db/app?pool=0", "`pool=0`"),
            ("postgres://me:secret@db/app?pool=many", "`pool=many`"),
            ("postgres://me:secret@db/app?schema=", "name of a schema"),
            ("postgres://me:secret@db/app?schema=pg_x", "name of a schema"),
            ("postgres://me:secret@db/app?sslmode=mumble", "mumble"),
        ] {
            let error = PostgresOptions::parse(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(says) && !error.to_string().contains("secret"), "{error}");
        }
        let long = PostgresOptions::parse("postgres://db/app").unwrap().schema("x".repeat(64)).unwrap_err();
        assert!(long.to_string().contains("63 bytes"), "{long}");
    }
}
