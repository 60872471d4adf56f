//! The suite on PostgreSQL, each case in a schema of its own: as it comes, with one connection, and against
//! defaults of the server that would hurt.

use std::sync::Arc;

use durable_postgres::PostgresOptions;
use durable_testkit::conformance::Harness;

use crate::fixture::Database;

async fn open_with(change: impl FnOnce(PostgresOptions) -> PostgresOptions, database: Database) -> Harness {
    let provider = database.provider(change).await;
    let (worker, server) = (provider.clone(), database.clone());
    let kill = move |incarnation| server.terminate(worker.liveness_pid(incarnation).unwrap());
    Harness::new(Arc::new(provider), kill, database)
}

async fn open() -> Harness {
    open_with(|options| options, Database::new()).await
}

durable_testkit::conformance!(open);

/// A pool of one is slower and nothing else.
mod one_connection {
    use super::{Database, Harness, open_with};

    async fn on_one_connection() -> Harness {
        open_with(|options| options.pool(1), Database::new()).await
    }

    durable_testkit::conformance!(on_one_connection);
}

/// Time zone, search path, isolation and what else a role or a database may set change nothing.
mod other_defaults {
    use super::{Database, Harness, open_with};

    async fn under_other_defaults() -> Harness {
        let settings = [
            "default_transaction_isolation=serializable",
            "default_transaction_deferrable=on",
            "TimeZone=Asia/Kathmandu",
            "search_path=nowhere",
            "DateStyle=German",
            "IntervalStyle=iso_8601",
            "synchronous_commit=off",
            "enable_indexscan=off",
            "bytea_output=escape",
            "extra_float_digits=0",
            "standard_conforming_strings=off",
        ];
        let options: Vec<String> = settings.iter().map(|setting| format!("-c%20{setting}")).collect();
        open_with(
            |options| options,
            Database::new().with_parameter(&format!("options={}", options.join("%20"))),
        )
        .await
    }

    durable_testkit::conformance!(under_other_defaults);
}
