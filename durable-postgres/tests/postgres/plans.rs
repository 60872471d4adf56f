//! How PostgreSQL carries the statements out: every one seeks, whatever the tables hold (G9), also by a plan that
//! was made while they were empty.

use std::path::Path;

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::fixture::Database;

/// Statements that may read a whole index, with the reason.
const WHOLE: [(&str, &str); 2] = [
    ("schema_version", "a handful of migrations"),
    ("worker_unblock", "all blocked runs of other builds are wanted"),
];

/// How many parameters a statement takes.
fn parameters(statement: &str) -> usize {
    let code = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let numbers = code.flat_map(|line| line.split('$').skip(1)).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    numbers.max().unwrap_or(0)
}

/// The generic plan of a statement, which is what a cached statement runs by.
async fn plan(connection: &mut PgConnection, statement: &str) -> Vec<String> {
    let prepare = format!("PREPARE planned AS {statement}");
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await.unwrap();
    let nulls = vec!["NULL"; parameters(statement)].join(", ");
    let explain = if nulls.is_empty() {
        "EXPLAIN EXECUTE planned".to_owned()
    } else {
        format!("EXPLAIN EXECUTE planned ({nulls})")
    };
    let lines = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_all(&mut *connection).await.unwrap();
    sqlx::raw_sql("DEALLOCATE planned").execute(connection).await.unwrap();
    lines.iter().map(|line| line.get::<String, _>(0)).collect()
}

/// The step of a plan that reads a table or an index from end to end, if there is one.
fn walk(plan: &[String]) -> Option<&String> {
    plan.iter().enumerate().find_map(|(index, line)| {
        // An update of nothing that was chosen elsewhere has a scan of the catalogue's own, by name.
        let reads = line.contains(" Scan using ") || line.contains("Bitmap Index Scan on");
        let seeks = plan.get(index + 1).is_some_and(|next| next.contains("Index Cond:"));
        let walks = line.contains("Seq Scan on") || (reads && !seeks);
        (walks && !line.contains(" on pg_")).then_some(line)
    })
}

/// An index that a plan uses and the statement's header does not name: the header is wrong, or the plan is.
fn unnamed(plan: &[String], statement: &str) -> Option<String> {
    let header: String = statement.lines().take_while(|line| line.starts_with("--")).collect();
    let used = plan.iter().filter_map(|line| {
        let behind = line.split(" using ").nth(1).or_else(|| line.split("Bitmap Index Scan on ").nth(1))?;
        behind.split_whitespace().next()
    });
    used.map(str::to_owned).find(|index| {
        let named =
            if index.ends_with("_pkey") { header.contains("primary key") } else { header.contains(index) };
        !named && !index.starts_with("pg_")
    })
}

async fn check_all(database: &Database, connection: &mut PgConnection, when: &str) {
    let (mut checked, mut unexpected) = (0, Vec::new());
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("sql")).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let statement = std::fs::read_to_string(&file).unwrap();
        if name.starts_with("schema_") && statement.contains("CREATE ")
            || WHOLE.iter().any(|&(whole, _)| whole == name)
        {
            continue;
        }
        let rendered = statement.replace("durable.", &format!("\"{}\".", database.schema()));
        let plan = plan(connection, &rendered).await;
        assert_eq!(walk(&plan), None, "{name}, {when}:\n{}", plan.join("\n"));
        unexpected.extend(unnamed(&plan, &statement).map(|index| format!("{name} uses {index}")));
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
    assert!(unexpected.is_empty(), "{when}: {unexpected:#?}");
}

/// Fills the tables as years of work would.
async fn fill(database: &Database, connection: &mut PgConnection) {
    let text = "
        INSERT INTO durable.instances (workflow_id, workflow_type, input_digest, request_id, current_run, run_number,
            status, queue, priority, eligible_at, wake_at, locked_by, lease_expires_at, next_event_id, created_at,
            updated_at)
        SELECT 'run-' || n, 'checkout', 'x', gen_random_uuid(), gen_random_uuid(), 1, (ARRAY[0, 1, 2, 3, 10, 10, 10])[n % 7 + 1],
            'default', n % 10, n, CASE WHEN n % 7 IN (2, 3) THEN n END, CASE WHEN n % 7 = 1 THEN gen_random_uuid() END,
            CASE WHEN n % 7 = 1 THEN n END, 2, n, n
        FROM generate_series(1, 20000) AS n;
        INSERT INTO durable.runs (run_id, instance_id, number, seed, started_at)
        SELECT current_run, id, 1, current_run, 1 FROM durable.instances;
        INSERT INTO durable.history SELECT run_id, n, n + 1, 'x' FROM durable.runs, generate_series(1, 3) AS n;
        INSERT INTO durable.activities (instance_id, run_id, command_id, activity_type, queue, priority, eligible_at,
            attempts, lost, task, created_at)
        SELECT id, current_run, 1, 'charge', 'default', id % 10, id, 0, 0, 'x', 1 FROM durable.instances;
        INSERT INTO durable.inbox SELECT id, 1, 2, NULL, 'x', NULL, 1 FROM durable.instances;
        ANALYZE;";
    let text = text.replace("durable.", &format!("\"{}\".", database.schema()));
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.unwrap();
}

#[tokio::test]
async fn no_statement_walks_a_table_or_an_index() {
    let database = Database::new();
    database.provider(|options| options).await;
    let mut connection = database.connect().await;
    for setting in ["SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off", "SET jit = off"] {
        sqlx::raw_sql(setting).execute(&mut connection).await.unwrap();
    }
    check_all(&database, &mut connection, "empty").await;
    fill(&database, &mut connection).await;
    check_all(&database, &mut connection, "full").await;
}

/// Design D7: an update that changes a column of a full unique index takes its row FOR UPDATE, and would wait for
/// every foreign key check.
#[tokio::test]
async fn the_only_full_unique_index_of_a_hot_table_is_its_primary_key() {
    let database = Database::new();
    database.provider(|options| options).await;
    let rows = sqlx::query(
        "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON t.oid = \
         i.indrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace WHERE n.nspname = $1 AND t.relname IN \
         ('instances', 'runs', 'activities', 'inbox', 'history') AND i.indisunique AND i.indpred IS NULL ORDER BY 1",
    )
    .bind(database.schema())
    .fetch_all(&mut database.connect().await)
    .await
    .unwrap();
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["activities_pkey", "history_pkey", "inbox_pkey", "instances_pkey", "runs_pkey"]);
}
