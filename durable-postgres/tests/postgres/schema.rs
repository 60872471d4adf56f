//! Migrations, from nothing and from what is not ours to touch (G14), and what a session brings along.

use std::sync::Arc;
use std::time::Duration;

use durable_core::id::Incarnation;
use durable_core::provider::{ErrorKind, Inspect as _, Schema as _, WorkflowStore as _};
use durable_postgres::{PostgresOptions, PostgresProvider};
use sqlx::{AssertSqlSafe, Row as _};
use tokio::sync::Barrier;

use crate::fixture::{Database, claim_params, start_params};

/// Ten providers with connections of their own are ten processes to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_at_once_migrate_an_empty_database() {
    let database = Database::new();
    let barrier = Arc::new(Barrier::new(10));
    let migrators: Vec<_> = (0..10)
        .map(|_| {
            let (options, barrier) =
                (database.options().lock_timeout(Duration::from_millis(250)), barrier.clone());
            tokio::spawn(async move {
                let provider = PostgresProvider::open(options).await.unwrap();
                barrier.wait().await;
                provider.migrate().await
            })
        })
        .collect();
    for migrator in migrators {
        migrator.await.unwrap().unwrap();
    }
    let provider = database.provider(|options| options).await;
    provider.workflow_start(vec![start_params("run")]).await.unwrap().remove(0).unwrap();
    let count = format!("SELECT count(*) FROM \"{}\".durable_migrations", database.schema());
    let row = sqlx::raw_sql(AssertSqlSafe(count)).fetch_one(&mut database.connect().await).await.unwrap();
    assert_eq!(row.get::<i64, _>(0), 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let database = Database::new();
    let provider = database.provider(|options| options).await;
    database.meddle("INSERT INTO durable.durable_migrations (version, applied_at) VALUES (99, 0)").await;
    let error = provider.migrate().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaVersion, "{error}");
    assert!(
        error.to_string().contains("version 99") && error.to_string().contains(&provider.describe()),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_that_was_never_migrated_says_so() {
    let database = Database::new();
    let provider = PostgresProvider::open(database.options()).await.unwrap();
    let error = provider.workflow_claim(claim_params(Incarnation::fresh(), 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaVersion, "{error}");
    assert!(error.to_string().contains("migrate"), "{error}");
    provider.migrate().await.unwrap();
    assert!(provider.workflow_claim(claim_params(Incarnation::fresh(), 1)).await.unwrap().runs.is_empty());
}

/// A migration that fails half way leaves nothing behind.
#[tokio::test]
async fn a_migration_applies_wholly_or_not_at_all() {
    let database = Database::new();
    database.meddle("CREATE SCHEMA durable_placeholder").await;
    database.meddle("CREATE TABLE durable.rate_buckets (taken INTEGER)").await;
    let provider = PostgresProvider::open(database.options()).await.unwrap();
    provider.migrate().await.unwrap_err();
    let tables = sqlx::query("SELECT tablename::TEXT FROM pg_tables WHERE schemaname = $1")
        .bind(database.schema())
        .fetch_all(&mut database.connect().await)
        .await
        .unwrap();
    assert_eq!(tables.iter().map(|row| row.get(0)).collect::<Vec<String>>(), ["rate_buckets"]);
    database.meddle("DROP TABLE durable.rate_buckets").await;
    provider.migrate().await.unwrap();
}

/// The schema is there and the role may make no other: a usual way to hand out a database.
#[tokio::test]
async fn a_role_that_owns_the_schema_and_nothing_else_is_enough() {
    let database = Database::new();
    let role = database.schema().replace(' ', "_");
    database.meddle(&format!("CREATE ROLE \"{role}\" LOGIN")).await;
    database.meddle(&format!("CREATE SCHEMA durable_placeholder AUTHORIZATION \"{role}\"")).await;
    let url = database.server().url().replacen("postgres@", &format!("{role}@"), 1);
    let options = PostgresOptions::parse(&url).unwrap().schema(database.schema()).unwrap();
    let provider = PostgresProvider::open(options).await.unwrap();
    provider.migrate().await.unwrap();
    provider.workflow_start(vec![start_params("run")]).await.unwrap().remove(0).unwrap();
}

/// Two schemas of one database are two worlds, workers' slots included.
#[tokio::test]
async fn schemas_do_not_see_each_other() {
    let (one, two) = (Database::new(), Database::new());
    let (first, second) = (one.provider(|options| options).await, two.provider(|options| options).await);
    let start = start_params("run");
    first.workflow_start(vec![start.clone()]).await.unwrap().remove(0).unwrap();
    assert!(second.instance_find(&start.workflow_id).await.unwrap().is_none());
    assert!(second.workflow_claim(claim_params(Incarnation::fresh(), 9)).await.unwrap().runs.is_empty());
}
