//! The SQLite provider of `durable`: one file, one writer connection in each process, any number of
//! processes. It stores and compares; it knows nothing of workflow semantics.
//!
//! Every write is one `BEGIN IMMEDIATE` transaction, so what it reads cannot change before it commits.
//! The journal is a write-ahead log with `synchronous = FULL`: what was acknowledged survives a crash of
//! the process and of the machine (G4).

mod activity_queue;
mod connection;
mod decode;
mod error;
mod inbox;
mod inspect;
mod maintenance;
mod options;
mod provider;
mod schema;
mod slot;
mod workers;
mod workflow_commit;
mod workflow_store;

pub use self::options::{SqliteOptions, Synchronous};
pub use self::provider::SqliteProvider;

/// The text of one statement; SQL lives only in `sql/`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../sql/", $name, ".sql"))
    };
}
pub(crate) use sql;
