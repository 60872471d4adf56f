//! Counts what reaches SQLite: the driver's own events, one for each statement text handed to it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Metadata, Subscriber};

const TARGET: &str = "sqlx::query";

/// Counters that go up with every statement of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statements {
    inner: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    all: AtomicU64,
    commits: AtomicU64,
}

impl Statements {
    /// Statements so far.
    pub(crate) fn all(&self) -> u64 {
        self.inner.all.load(Ordering::Relaxed)
    }

    /// Committed transactions so far.
    pub(crate) fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::Relaxed)
    }
}

/// Starts to count; once in a process.
pub(crate) fn count() -> Result<Statements> {
    let statements = Statements::default();
    set_global_default(Counter { counters: Arc::clone(&statements.inner) })?;
    Ok(statements)
}

/// A subscriber that hears of statements and of nothing else.
struct Counter {
    counters: Arc<Counters>,
}

impl Subscriber for Counter {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET && !metadata.is_span()
    }

    fn event(&self, event: &Event<'_>) {
        let mut commit = Commit(false);
        event.record(&mut commit);
        self.counters.all.fetch_add(1, Ordering::Relaxed);
        if commit.0 {
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// Whether the statement ends a transaction that wrote.
struct Commit(bool);

impl Visit for Commit {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "summary" {
            self.0 |= value.starts_with("COMMIT");
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn Debug) {}
}
