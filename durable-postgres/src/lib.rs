//! The PostgreSQL provider of `durable`: one schema in a database, any number of processes. It stores and
//! compares; it knows nothing of workflow semantics.
//!
//! Everything runs at READ COMMITTED. What a statement decides upon is locked first, in one order everywhere
//! (instances by id, then activity rows by id), and the clock is read once the locks are held; claims and
//! sweeps skip what is locked and never wait (G1, G7, G10). Commits are on the server's disk before they are
//! acknowledged, even where the server's default is otherwise (G4).

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
mod statements;
mod workers;
mod workflow_commit;
mod workflow_commit_riders;
mod workflow_start;
mod workflow_store;

pub use self::options::PostgresOptions;
pub use self::provider::PostgresProvider;
