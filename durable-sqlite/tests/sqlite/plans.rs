//! How SQLite carries the statements out: every hot one seeks, whatever the tables hold (G9).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

use crate::fixture::open;

/// How many parameters a statement takes.
fn parameters(statement: &str) -> usize {
    let code = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let numbers = code.flat_map(|line| line.split('?').skip(1));
    numbers
        .filter_map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .max()
        .unwrap_or(0)
}

/// The steps in which SQLite carries a statement out.
async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let mut explain = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")));
    for _ in 0..parameters(statement) {
        explain = explain.bind(None::<i64>);
    }
    let steps = explain.fetch_all(connection).await.unwrap();
    steps.iter().map(|step| step.get("detail")).collect()
}

#[tokio::test]
async fn no_statement_walks_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    open(&path).await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let mut checked = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("sql")).unwrap() {
        let file = entry.unwrap().path();
        let statement = std::fs::read_to_string(&file).unwrap();
        for step in plan(&mut connection, &statement).await {
            let walks = ["instances", "activities", "inbox", "history", "runs", "workers"]
                .iter()
                .any(|table| step == format!("SCAN {table}"));
            assert!(!walks, "{}: {step}", file.display());
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}

/// Counts the instructions of a statement's every step.
async fn instructions(connection: &mut SqliteConnection, file: &str, parameters: &[Parameter]) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    connection.lock_handle().await.unwrap().set_progress_handler(1, move || {
        counter.fetch_add(1, Ordering::Relaxed);
        true
    });
    let mut statement = sqlx::query(AssertSqlSafe(text(file)));
    for parameter in parameters {
        statement = match parameter {
            Parameter::Number(number) => statement.bind(*number),
            Parameter::Text(text) => statement.bind(*text),
        };
    }
    // The first run compiles the statement; both count alike.
    statement.fetch_all(&mut *connection).await.unwrap();
    connection.lock_handle().await.unwrap().remove_progress_handler();
    count.load(Ordering::Relaxed)
}

#[derive(Debug, Clone, Copy)]
enum Parameter {
    Number(i64),
    Text(&'static str),
}

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql").join(format!("{file}.sql"));
    std::fs::read_to_string(path).unwrap()
}

/// 100,000 of each: runs to be claimed later in every priority, timers, activities that wait for their back-off or
/// for nobody, leases that are alive.
const LATER: &str = "
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO instances (workflow_id, workflow_type, input_digest, request_id, current_run, run_number, status, queue,
                           priority, eligible_at, wake_at, next_event_id, created_at, updated_at)
    SELECT 'later-' || i, 'checkout', x'00', randomblob(16), randomblob(16), 1, 0, 'default', i % 10, 1000000 + i, NULL,
           2, 0, 0 FROM n
    UNION ALL
    SELECT 'timer-' || i, 'checkout', x'00', randomblob(16), randomblob(16), 1, 2 + i % 2, 'default', i % 10, 0,
           1000000 + i, 2, 0, 0 FROM n;
    INSERT INTO runs (run_id, instance_id, number, seed, started_at)
    SELECT current_run, id, 1, x'00', 0 FROM instances WHERE workflow_id LIKE 'later-%';
    INSERT INTO activities (instance_id, run_id, command_id, activity_type, queue, priority, eligible_at, attempts, lost,
                            deadline, task, created_at)
    SELECT id, current_run, 1, 'charge', 'default', priority, 1000000 + id, 1, 0, 2000000 + id, x'00', 0
    FROM instances WHERE workflow_id LIKE 'later-%'";

/// Five of each that are due.
const DUE: &str = "
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
    INSERT INTO instances (workflow_id, workflow_type, input_digest, request_id, current_run, run_number, status, queue,
                           priority, eligible_at, wake_at, next_event_id, created_at, updated_at)
    SELECT 'due-' || i, 'checkout', x'00', randomblob(16), randomblob(16), 1, 0, 'default', 9, i, NULL, 2, 0, 0 FROM n
    UNION ALL
    SELECT 'woken-' || i, 'checkout', x'00', randomblob(16), randomblob(16), 1, 2, 'default', 9, i, i, 2, 0, 0 FROM n;
    INSERT INTO runs (run_id, instance_id, number, seed, started_at)
    SELECT current_run, id, 1, x'00', 0 FROM instances WHERE workflow_id LIKE 'due-%';
    INSERT INTO activities (instance_id, run_id, command_id, activity_type, queue, priority, eligible_at, attempts, lost,
                            task, created_at)
    SELECT id, current_run, 1, 'charge', 'default', 9, eligible_at, 1, 0, x'00', 0
    FROM instances WHERE workflow_id LIKE 'due-%'";

/// G9: what a claim costs does not depend on what is to be done later: the same plan, and as many instructions.
#[tokio::test]
async fn a_hundred_thousand_items_for_later_cost_a_claim_nothing() {
    use Parameter::{Number, Text};
    let (queue, limit, queues, types) =
        (Text("default"), Number(10), Text("[\"default\"]"), Text("[\"charge\"]"));
    // When five of each are due, and when nothing is.
    let mut statements = Vec::new();
    for now in [Number(1000), Number(0)] {
        statements.push(("workflow_claim_pick", vec![queue, now, limit]));
        statements.push(("activity_claim_pick", vec![queue, now, limit, types]));
        statements.push(("poll", vec![now, Text("nobody"), queues, types]));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    open(&path).await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::raw_sql(DUE).execute(&mut connection).await.unwrap();
    let mut before = Vec::new();
    for (file, parameters) in &statements {
        let plan = plan(&mut connection, &text(file)).await;
        before.push((plan, instructions(&mut connection, file, parameters).await));
    }
    sqlx::raw_sql(LATER).execute(&mut connection).await.unwrap();
    for ((file, parameters), (plan_before, cost_before)) in statements.into_iter().zip(before) {
        assert_eq!(plan(&mut connection, &text(file)).await, plan_before, "{file}");
        let cost = instructions(&mut connection, file, &parameters).await;
        println!("{file}: {cost_before} instructions, with 100,000 items for later {cost}");
        assert!(cost < cost_before * 2, "{file}: {cost_before} instructions became {cost}");
    }
    let now = Number(1000);
    let cost = instructions(&mut connection, "due_sweep", &[now, limit]).await;
    assert!(cost < 5_000, "due_sweep: {cost} instructions for five runs");
}
