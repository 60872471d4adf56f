//! How a database is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

/// When a commit is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// Before it is acknowledged: nothing acknowledged is lost, whatever crashes (G4).
    #[default]
    Full,
    /// At the next checkpoint: faster, and a crash of the *machine* may lose the last acknowledged commits
    /// (never a crash of the process; the file stays intact). Effects of lost commits happen again.
    Normal,
}

/// Asked before the writer's instructions; `false` stops the statement.
#[derive(Clone)]
pub(crate) struct InstructionHook(Arc<dyn Fn() -> bool + Send + Sync>);

impl InstructionHook {
    pub(crate) fn ask(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for InstructionHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstructionHook")
    }
}

/// How a database is opened. Build one with [`SqliteOptions::parse`] or [`SqliteOptions::new`].
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    path: PathBuf,
    read_only: bool,
    create: bool,
    synchronous: Synchronous,
    max_page_count: Option<u32>,
    readers: usize,
    busy_timeout: Duration,
    instruction_hook: Option<InstructionHook>,
    log_statements: bool,
}

impl SqliteOptions {
    /// The file at `path`, made if it is missing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            read_only: false,
            create: true,
            synchronous: Synchronous::Full,
            max_page_count: None,
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            instruction_hook: None,
            log_statements: false,
        }
    }

    /// From an address: `sqlite:orders.db` or `sqlite://dir/orders.db`, optionally `?mode=ro` (reads only),
    /// `?mode=rw` (must exist) or `?mode=rwc` (made if missing, the default). Percent-encode `?` and `#`.
    ///
    /// # Errors
    ///
    /// `Invalid` for another scheme, an unknown parameter and in-memory databases.
    pub fn parse(url: &str) -> ProviderResult<Self> {
        let invalid = |why: String| ProviderError::new(ErrorKind::Invalid, why);
        let Some(rest) = url.strip_prefix("sqlite:") else {
            return Err(invalid(format!("{url:?} is no SQLite address; write `sqlite:path/to/file.db`")));
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = path.strip_prefix("//").unwrap_or(path);
        let mode = query.split('&').find_map(|pair| pair.strip_prefix("mode="));
        if path.is_empty() || path == ":memory:" || mode == Some("memory") {
            return Err(invalid(format!(
                "{url:?} is an in-memory database: it would forget everything at the end of the process, which \
                 is what durable execution must not do; name a file (in a temporary directory for tests)"
            )));
        }
        let parsed = SqliteConnectOptions::from_str(url)
            .map_err(|error| invalid(format!("{url:?} is no SQLite address: {error}; correct it")))?;
        let mut options = Self::new(parsed.get_filename());
        options.read_only = mode == Some("ro");
        options.create = matches!(mode, None | Some("rwc"));
        Ok(options)
    }

    /// Opens the database for reads only; writes are refused with `ReadOnly`.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// When a commit is on disk; [`Synchronous::Full`] by default.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Caps the file at this many pages of 4 KiB; writes beyond are refused with `StorageFull`.
    #[must_use]
    pub fn max_page_count(mut self, pages: u32) -> Self {
        self.max_page_count = Some(pages);
        self
    }

    /// Connections for reads, opened when first needed; 4 by default, at least 1.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// How long a write waits for another process's write before it is `Busy`; 5 s by default.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Asks before every instruction of SQLite's virtual machine on the writer, and once more when a statement
    /// has taken effect; `false` stops it there. For tests that fail a write at each place.
    #[doc(hidden)]
    #[must_use]
    pub fn instruction_hook(mut self, hook: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.instruction_hook = Some(InstructionHook(Arc::new(hook)));
        self
    }

    /// Makes each statement an event of `tracing` (target `sqlx::query`), so that a measurement can count them.
    #[doc(hidden)]
    #[must_use]
    pub fn log_statements(mut self, log: bool) -> Self {
        self.log_statements = log;
        self
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn hook(&self) -> Option<InstructionHook> {
        self.instruction_hook.clone()
    }

    pub(crate) fn reader_count(&self) -> usize {
        self.readers
    }

    /// For the writer. It switches the journal itself: sqlx would not wait for other processes there.
    pub(crate) fn writer(&self) -> SqliteConnectOptions {
        let synchronous = match self.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(self.create && !self.read_only)
            .read_only(self.read_only)
            .busy_timeout(self.busy_timeout)
            .foreign_keys(true)
            .synchronous(synchronous)
            .statement_cache_capacity(200);
        let options = self.logging(options);
        match self.max_page_count {
            Some(pages) => options.pragma("max_page_count", pages.to_string()),
            None => options,
        }
    }

    /// For a reader.
    pub(crate) fn reader(&self) -> SqliteConnectOptions {
        let options =
            SqliteConnectOptions::new().filename(&self.path).read_only(true).busy_timeout(self.busy_timeout);
        self.logging(options)
    }

    /// The runtime logs what users need to know; statements are our business.
    fn logging(&self, options: SqliteConnectOptions) -> SqliteConnectOptions {
        if self.log_statements { options } else { options.disable_statement_logging() }
    }
}
