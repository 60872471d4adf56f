//! Everything that a database holds, as text.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, query_scalar};

/// Tables that tests of faults add; see `faults`.
const APPARATUS: &str = "fault";

/// Writes down a database, again and again over one connection.
pub(crate) struct Dumper {
    connection: SqliteConnection,
    /// Each table with the statement that writes its rows down.
    tables: Vec<(String, String)>,
}

impl Dumper {
    pub(crate) async fn open(path: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let mut connection = options.connect().await.unwrap();
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let names: Vec<String> = query_scalar(names).fetch_all(&mut connection).await.unwrap();
        let mut tables = Vec::new();
        for table in names.into_iter().filter(|name| !name.starts_with(APPARATUS)) {
            let columns: Vec<String> = query_scalar("SELECT name FROM pragma_table_xinfo(?1)")
                .bind(&table)
                .fetch_all(&mut connection)
                .await
                .unwrap();
            let pairs: Vec<_> = columns.iter().map(|name| format!("'{name}=' || quote({name})")).collect();
            let line = pairs.join(" || ' ' || ");
            let select = format!("SELECT {line} FROM {table} ORDER BY {}", columns.join(", "));
            tables.push((table, select));
        }
        Self { connection, tables }
    }

    /// Every row of every table, column by column: two equal dumps mean that nothing changed.
    pub(crate) async fn dump(&mut self) -> String {
        let mut text = String::new();
        for (table, select) in &self.tables {
            writeln!(text, "{table}").unwrap();
            let rows: Vec<String> =
                query_scalar(AssertSqlSafe(select.clone())).fetch_all(&mut self.connection).await.unwrap();
            for row in rows {
                writeln!(text, "  {row}").unwrap();
            }
        }
        text
    }
}

/// One dump.
pub(crate) async fn dump(path: PathBuf) -> String {
    Dumper::open(&path).await.dump().await
}
