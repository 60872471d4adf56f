//! What SQLite's errors mean in the contract's words.

use std::path::Path;

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

/// A stored value that this build cannot read.
pub(crate) fn corrupt(what: impl std::fmt::Display) -> Failure {
    let message =
        format!("the database holds {what}; restore it from a backup, or run the build that wrote it");
    Failure::Refused(ProviderError::new(ErrorKind::Corrupt, message))
}

/// Says what happened, why, and what to do, naming the file.
pub(crate) fn explain(path: &Path, failure: Failure) -> ProviderError {
    let error = match failure {
        Failure::Refused(error) => return error,
        Failure::Database(error) => error,
    };
    let (kind, advice) = classify(&error);
    let message = format!("SQLite database {}: {error}; {advice}", path.display());
    ProviderError::new(kind, message).with_source(error)
}

/// SQLite's primary result code of an error, if the database raised it.
/// <https://www.sqlite.org/rescode.html>
pub(crate) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn classify(error: &sqlx::Error) -> (ErrorKind, &'static str) {
    if let Some(code) = primary_code(error) {
        return classify_code(code, error);
    }
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound => (
            ErrorKind::Corrupt,
            "a stored value has another shape than this schema gives it; restore the file from a backup",
        ),
        sqlx::Error::Configuration(_) => (ErrorKind::Invalid, "correct the address"),
        _ => (ErrorKind::Unavailable, "the connection was lost; the call is tried again on a new one"),
    }
}

fn classify_code(code: i32, error: &sqlx::Error) -> (ErrorKind, &'static str) {
    match code {
        5 | 6 | 15 => (
            ErrorKind::Busy,
            "another process held the write lock for longer than the busy timeout; it is tried again",
        ),
        13 => (
            ErrorKind::StorageFull,
            "the disk or the database's size limit is full and nothing was written; free space, it is tried again",
        ),
        8 => (
            ErrorKind::ReadOnly,
            "the file does not accept writes; check its permissions, its directory's, and `mode=ro` in the address",
        ),
        11 | 26 => (
            ErrorKind::Corrupt,
            "the file is damaged or is no SQLite database; check the path, or restore it from a backup",
        ),
        14 => (
            ErrorKind::Unavailable,
            "the file cannot be opened; check that the directory exists and is writable",
        ),
        10 => (ErrorKind::Unavailable, "the disk reported an error; check it, the call is tried again"),
        4 | 9 | 17 => (
            ErrorKind::Unavailable,
            "the statement was stopped, or the schema changed under it, and its effect is not known; it is tried again",
        ),
        7 => (ErrorKind::Unavailable, "memory ran out; the call is tried again"),
        19 => (
            ErrorKind::Conflict,
            "another writer was first, nothing was written; it is made again against what was committed",
        ),
        18 => (ErrorKind::Invalid, "a value is larger than SQLite stores; make it smaller"),
        1 if error.to_string().contains("no such ") => {
            (ErrorKind::SchemaVersion, "the schema is missing or another one; migrate the database first")
        }
        _ => (ErrorKind::Invalid, "the statement does not fit the database; report this with the text above"),
    }
}
