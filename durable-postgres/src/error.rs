//! What PostgreSQL's errors mean in the contract's words.

use durable_core::provider::{ErrorKind, ProviderError};

/// Why a call did not succeed: the database failed, or the call is refused.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database's error; [`explain`] says what it means.
    Database(sqlx::Error),
    /// An answer in the contract's words.
    Refused(ProviderError),
}

/// What the inside of a call returns.
pub(crate) type Attempt<T> = Result<T, Failure>;

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Whether the connection can be used for something else: the session lives, and its cached plans fit.
    pub(crate) fn spares_connection(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Database(error) => sqlstate(error).is_some_and(|code| {
                !matches!(code.as_str(), "0A000" | "25P03")
                    && !code.starts_with("57P")
                    && !code.starts_with("08")
            }),
        }
    }
}

/// A stored value that this build cannot read.
pub(crate) fn corrupt(what: impl std::fmt::Display) -> Failure {
    let message =
        format!("the database holds {what}; restore it from a backup, or run the build that wrote it");
    Failure::Refused(ProviderError::new(ErrorKind::Corrupt, message))
}

/// Says what happened, why, and what to do, naming the database.
pub(crate) fn explain(database: &str, failure: Failure) -> ProviderError {
    let error = match failure {
        Failure::Refused(error) => return error,
        Failure::Database(error) => error,
    };
    let (kind, advice) = classify(&error);
    let message = format!("PostgreSQL database {database}: {error}; {advice}");
    ProviderError::new(kind, message).with_source(error)
}

/// The SQLSTATE of an error, if the server raised it.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
pub(crate) fn sqlstate(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

fn classify(error: &sqlx::Error) -> (ErrorKind, &'static str) {
    if let Some(code) = sqlstate(error) {
        return classify_code(&code);
    }
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound => (
            ErrorKind::Corrupt,
            "a stored value has another shape than this schema gives it; restore the database from a backup",
        ),
        sqlx::Error::Configuration(_) => (ErrorKind::Invalid, "correct the address"),
        sqlx::Error::Encode(_) => (ErrorKind::Invalid, "a value cannot be sent; make it smaller"),
        _ => (ErrorKind::Unavailable, "the connection was lost; the call is tried again on a new one"),
    }
}

fn classify_code(code: &str) -> (ErrorKind, &'static str) {
    match code {
        "40001" | "40P01" => (ErrorKind::Conflict, "nothing was written; it is made again"),
        "0A000" => (
            ErrorKind::Conflict,
            "the schema changed under a prepared statement; it is made again on a new connection",
        ),
        "55P03" | "57014" => (
            ErrorKind::Busy,
            "another transaction held a row for longer than the lock timeout, nothing was written; it is tried again",
        ),
        "53100" => (
            ErrorKind::StorageFull,
            "the server's disk is full and nothing was written; free space, it is tried again",
        ),
        "25006" => (
            ErrorKind::ReadOnly,
            "the server is a standby or the role may only read; connect to the primary with a role that may write",
        ),
        "42P01" | "42703" | "3F000" => {
            (ErrorKind::SchemaVersion, "the schema is missing or another one; migrate the database first")
        }
        "42501" => (
            ErrorKind::ReadOnly,
            "the role lacks a privilege; grant it USAGE on the schema and all privileges on its tables and sequences",
        ),
        "28000" | "28P01" | "3D000" => {
            (ErrorKind::Invalid, "correct user, password or database in the address")
        }
        "XX001" | "XX002" => (ErrorKind::Corrupt, "the server reports damage; restore it from a backup"),
        _ => classify_class(code),
    }
}

fn classify_class(code: &str) -> (ErrorKind, &'static str) {
    match &code[..code.len().min(2)] {
        "08" | "57" | "58" => (
            ErrorKind::Unavailable,
            "the server went away or restarts; the call is tried again on a new connection",
        ),
        "53" => {
            (ErrorKind::Unavailable, "the server is out of connections or memory; the call is tried again")
        }
        "23" => (
            ErrorKind::Conflict,
            "another writer was first, nothing was written; it is made again against what was committed",
        ),
        "25" | "40" => {
            (ErrorKind::Conflict, "the transaction was ended, nothing was written; it is made again")
        }
        "22" | "54" => (ErrorKind::Invalid, "a value does not fit PostgreSQL; make it smaller or cleaner"),
        _ => (ErrorKind::Invalid, "the statement does not fit the database; report this with the text above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_transient_and_what_does_not_is_not() {
        for code in [
            "40001", "40P01", "0A000", "55P03", "57014", "57P01", "57P02", "57P03", "08006", "53300", "53100",
        ] {
            assert!(classify_code(code).0.is_transient(), "{code}");
        }
        for code in ["42601", "42P01", "28P01", "3D000", "22021", "54000", "25006", "42501", "XX001", ""] {
            assert!(!classify_code(code).0.is_transient(), "{code}");
        }
        assert_eq!(classify_code("23505").0, ErrorKind::Conflict);
        assert_eq!(classify(&sqlx::Error::PoolClosed).0, ErrorKind::Unavailable);
        assert!(!Failure::from(sqlx::Error::PoolClosed).spares_connection());
    }
}
