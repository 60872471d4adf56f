//! How SQLite carries the statements out: every hot one seeks, whatever the tables hold (G9).

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
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
        let mut explain = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")));
        for _ in 0..parameters(&statement) {
            explain = explain.bind(None::<i64>);
        }
        for step in explain.fetch_all(&mut connection).await.unwrap() {
            let step: String = step.get("detail");
            let walks = ["instances", "activities", "inbox", "history", "runs", "workers"]
                .iter()
                .any(|table| step == format!("SCAN {table}"));
            assert!(!walks, "{}: {step}", file.display());
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}
