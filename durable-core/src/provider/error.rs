//! What a provider answers when it cannot do what it was asked.

use std::error::Error;
use std::fmt;

/// What kind of failure it was; callers match on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The write met a constraint or a serialization failure; made again against what was committed.
    Conflict,
    /// The caller no longer owns what it wrote to; nothing was changed.
    LeaseLost,
    /// There is no such thing.
    NotFound,
    /// The name is taken by something else.
    AlreadyExists,
    /// The input can never be accepted.
    Invalid,
    /// The database is locked or overloaded for the moment.
    Busy,
    /// What is stored cannot be read.
    Corrupt,
    /// The database cannot be reached, or the answer was lost.
    Unavailable,
    /// The disk or the database's size limit is full.
    StorageFull,
    /// The database does not accept writes.
    ReadOnly,
    /// The schema is older or newer than this build.
    SchemaVersion,
}

impl ErrorKind {
    /// Whether the same call may succeed later; such errors are retried inside and never become a
    /// workflow's or an activity's outcome.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Conflict | Self::Busy | Self::Unavailable | Self::StorageFull)
    }
}

/// A provider's error: a kind to match on, a text for people, and the cause.
#[derive(Debug, Clone)]
pub struct ProviderError {
    kind: ErrorKind,
    message: String,
    source: Option<std::sync::Arc<dyn Error + Send + Sync>>,
}

/// What every provider call returns.
pub type ProviderResult<T> = Result<T, ProviderError>;

impl ProviderError {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(std::sync::Arc::new(source));
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ProviderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
