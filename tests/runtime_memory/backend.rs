//! The backend of this binary: the contract as running code, in memory.

pub(crate) use durable_testkit::MemoryProvider as Backend;

#[expect(clippy::unused_async, reason = "the same shape on every backend")]
pub(crate) async fn open() -> (Backend, Option<tempfile::TempDir>) {
    (Backend::new(), None)
}

pub(crate) fn fresh() -> Backend {
    Backend::new()
}

pub(crate) fn shared() -> Backend {
    Backend::new()
}

/// Seeds of an ordinary test run.
pub(crate) const SIMULATIONS: u64 = 2000;
