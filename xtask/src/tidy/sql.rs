//! `sql/*.sql` holds one statement each, under a header that says which guarantee it serves; no `WHERE` asks the
//! clock once per row; both backends have files of the same names; and on PostgreSQL every table names its schema.

use super::Finding;
use super::guarantees;
use super::tree::{Source, Tree};

const SQLITE: &str = "durable-sqlite/sql/";
const POSTGRES: &str = "durable-postgres/sql/";

/// Statements that only PostgreSQL needs: SQLite has one writer, whose transaction is every lock, one file that is
/// the schema, and file locks for the liveness of workers.
const ONLY_ON_POSTGRES: [&str; 12] = [
    "activity_settle_lock",
    "schema_lock",
    "schema_make",
    "schema_patience",
    "session_prepare",
    "worker_keepalive",
    "worker_lock",
    "worker_supersede",
    "worker_superseded",
    "worker_unlock",
    "workflow_commit_lock_activities",
    "workflow_start_withdraw",
];

/// Every SQL file. Migrations may hold several statements.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = same_names(tree);
    for file in tree.files.iter().filter(|file| file.has_extension("sql")) {
        let code = code_only(&file.text);
        if file.is_in("sql") {
            findings.extend(one_statement(file, &code));
            findings.extend(header(file, &code));
        }
        findings.extend(bare_clock(&code).into_iter().map(|line| clock_finding(file, line)));
        if file.path.starts_with("durable-postgres/") {
            findings.extend(
                bare_tables(&code).into_iter().map(|(line, table)| table_finding(file, line, &table)),
            );
        }
    }
    findings
}

/// Once both backends are there, a statement of one is missing in the other only for a stated reason.
fn same_names(tree: &Tree) -> Vec<Finding> {
    let of = |folder: &'static str| {
        tree.files.iter().filter_map(move |file| file.path.strip_prefix(folder)?.strip_suffix(".sql"))
    };
    if of(SQLITE).next().is_none() || of(POSTGRES).next().is_none() {
        return Vec::new();
    }
    let missing = |folder: &str, name: &str| {
        Finding::new(
            &format!("{folder}{name}.sql"),
            1,
            "the other backend has it, this one does not",
            "a reader holds the two folders side by side",
            "add the statement under the same name, or list it in `ONLY_ON_POSTGRES` with its reason",
        )
    };
    let on_postgres = of(POSTGRES)
        .filter(|name| !ONLY_ON_POSTGRES.contains(name) && of(SQLITE).all(|other| other != *name))
        .map(|name| missing(SQLITE, name));
    let on_sqlite = of(SQLITE)
        .filter(|name| of(POSTGRES).all(|other| other != *name))
        .map(|name| missing(POSTGRES, name));
    on_postgres.chain(on_sqlite).collect()
}

/// Tables of ours that stand without the schema, with their lines: they would be looked for along the search path.
fn bare_tables(code: &str) -> Vec<(usize, String)> {
    const TABLES: [&str; 14] = [
        "instances",
        "runs",
        "history",
        "inbox",
        "inbox_dedup",
        "activities",
        "workers",
        "kv_store",
        "kv_delta",
        "concurrency_configs",
        "concurrency_buckets",
        "rate_configs",
        "rate_buckets",
        "durable_migrations",
    ];
    let mut found = Vec::new();
    let mut before = "";
    for (number, line) in code.lines().enumerate() {
        for word in words(line) {
            let begins = ["FROM", "JOIN", "UPDATE", "INTO", "USING", "TABLE", "REFERENCES", "ON", "EXISTS"]
                .contains(&before.to_ascii_uppercase().as_str());
            if begins && TABLES.contains(&word) {
                found.push((number + 1, word.to_owned()));
            }
            before = word;
        }
    }
    found
}

fn table_finding(file: &Source, line: usize, table: &str) -> Finding {
    Finding::new(
        &file.path,
        line,
        format!("`{table}` without its schema"),
        "it would be looked for along the search path, which is the user's",
        format!("write `durable.{table}`; the provider puts the schema's quoted name there"),
    )
}

fn one_statement(file: &Source, code: &str) -> Option<Finding> {
    let statements = code.split(';').filter(|part| !part.trim().is_empty()).count();
    (statements != 1).then(|| {
        Finding::new(
            &file.path,
            1,
            format!("{statements} statements"),
            "a file in `sql/` is one provider call's one statement, prepared under its name",
            "give each statement its own file",
        )
    })
}

fn header(file: &Source, code: &str) -> Option<Finding> {
    let begin = code.find(|c: char| !c.is_whitespace()).unwrap_or(code.len());
    let header: String = file.text.chars().take(code[..begin].chars().count()).collect();
    let named = guarantees::cited(&header);
    (!guarantees::ALL.clone().any(|number| named.contains(&number))).then(|| {
        Finding::new(
            &file.path,
            1,
            "no header comment that names a guarantee",
            "a reader has to know what would break with this statement",
            "begin the file with `-- G…: what it does, and which index it uses`",
        )
    })
}

fn clock_finding(file: &Source, line: usize) -> Finding {
    Finding::new(
        &file.path,
        line,
        "a bare `clock_timestamp()` in a `WHERE`",
        "it is volatile, so it is evaluated for every row and never an index condition",
        "write `(SELECT COALESCE($now, clock_timestamp()))`",
    )
}

/// The text with comments and quoted parts blanked, character by character, line ends kept.
fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            // A quoted part is code, if of no interest: it must not make a statement look empty.
            let filler = if chars[at] == '-' || chars[at] == '/' { ' ' } else { '\'' };
            code.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { filler }));
            at = end;
        }
    }
    code
}

/// Where the comment or quoted part that begins at `at` ends; `at` itself if none begins there.
fn skipped(chars: &[char], at: usize) -> usize {
    let behind = |from: usize, end: &[char]| {
        let found = (from..chars.len()).find(|&place| chars[place..].starts_with(end));
        found.map_or(chars.len(), |place| place + end.len())
    };
    match chars[at..] {
        ['-', '-', ..] => behind(at, &['\n']),
        ['/', '*', ..] => behind(at + 2, &['*', '/']),
        [quote @ ('\'' | '"'), ..] => behind(at + 1, &[quote]),
        ['$', ..] => match dollar_tag(&chars[at..]) {
            Some(tag) => behind(at + tag.len(), tag),
            None => at,
        },
        _ => at,
    }
}

/// `$$` or `$name$`; not a parameter such as `$1`.
fn dollar_tag(chars: &[char]) -> Option<&[char]> {
    let length = chars[1..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
    let tag = chars.get(..length + 2)?;
    (tag[length + 1] == '$' && !tag[1].is_ascii_digit()).then_some(tag)
}

/// A parenthesis, or the file: what clause its text is in.
#[derive(Clone, Copy)]
struct Scope {
    in_where: bool,
    /// Nothing but the parenthesis was read yet: a `SELECT` here makes it a sub-select with clauses of its own.
    fresh: bool,
    sub_select: bool,
}

/// The lines on which `clock_timestamp()` stands in a `WHERE` without a sub-select of its own.
fn bare_clock(code: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut scopes = vec![Scope { in_where: false, fresh: false, sub_select: true }];
    for (number, line) in code.lines().enumerate() {
        for word in words(line) {
            match word.to_ascii_uppercase().as_str() {
                "(" => {
                    let in_where = scopes.last().is_some_and(|scope| scope.in_where);
                    scopes.push(Scope { in_where, fresh: true, sub_select: false });
                    continue;
                }
                ")" if scopes.len() > 1 => drop(scopes.pop()),
                "CLOCK_TIMESTAMP" if scopes.last().is_some_and(|scope| scope.in_where) => {
                    lines.push(number + 1);
                }
                upper => clause(&mut scopes, upper),
            }
            if let Some(scope) = scopes.last_mut() {
                scope.fresh = false;
            }
        }
    }
    lines
}

/// A keyword that begins a clause changes the clause of the sub-select that it stands in.
fn clause(scopes: &mut [Scope], upper: &str) {
    let Some(scope) = scopes.last_mut() else { return };
    if scope.fresh && matches!(upper, "SELECT" | "WITH" | "INSERT" | "UPDATE" | "DELETE") {
        *scope = Scope { in_where: false, fresh: false, sub_select: true };
    }
    match upper {
        "WHERE" => scope.in_where = true,
        "SELECT" | "FROM" | "SET" | "GROUP" | "ORDER" | "LIMIT" | "RETURNING" | "VALUES" | "UNION" | "DO"
        | ";"
            if scope.sub_select =>
        {
            scope.in_where = false;
        }
        _ => {}
    }
}

/// Words, and single characters between them.
fn words(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        found.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    const FILE: &str = "durable-sqlite/sql/lease_renew.sql";

    #[test]
    fn two_statements_or_none_are_found() {
        one(check, &[(FILE, "-- G3\nSELECT 1; SELECT 2")], &format!("{FILE}:1:"), "2 statements");
        one(check, &[(FILE, "-- G3\n-- nothing")], FILE, "0 statements");
    }

    #[test]
    fn a_semicolon_in_a_comment_or_a_string_ends_nothing() {
        let text =
            "-- G3: a; b\nSELECT ';', $$;$$, $tag$;$tag$, \"a;b\" /* ; */ FROM t WHERE a = $1 AND b = $2;\n";
        assert_eq!(found(check, &[(FILE, text)]), [""; 0]);
        assert_eq!(found(check, &[("durable-sqlite/migrations/0001.sql", "CREATE a; CREATE b;")]), [""; 0]);
    }

    #[test]
    fn a_header_without_a_guarantee_is_found() {
        for text in ["SELECT 1", "-- renews\nSELECT 1", "-- G99\nSELECT 1", "SELECT 1 -- G3"] {
            one(check, &[(FILE, text)], FILE, "names a guarantee");
        }
    }

    #[test]
    fn a_bare_clock_in_a_where_is_found_on_its_line() {
        for predicate in [
            "due_at <= clock_timestamp()",
            "due_at <= COALESCE($1, clock_timestamp())",
            "a = 1 AND (b OR due_at < clock_timestamp())",
            "id IN (SELECT id FROM u WHERE due_at < Clock_Timestamp())",
        ] {
            let text = format!("-- G7\nSELECT a FROM t\nWHERE {predicate}\nORDER BY a");
            one(check, &[(FILE, &text)], &format!("{FILE}:3:"), "clock_timestamp");
        }
    }

    #[test]
    fn a_statement_that_one_backend_lacks_is_found() {
        let statement = "-- G1\nSELECT 1";
        let both = [
            ("durable-sqlite/sql/poll.sql", statement),
            ("durable-postgres/sql/poll.sql", statement),
            ("durable-postgres/sql/workflow_commit_lock_activities.sql", statement),
        ];
        assert_eq!(found(check, &both), [""; 0]);
        let one_more = |path| [both.as_slice(), &[(path, statement)]].concat();
        one(
            check,
            &one_more("durable-postgres/sql/lease_renew.sql"),
            "durable-sqlite/sql/lease_renew.sql:1:",
            "the other backend has it",
        );
        one(
            check,
            &one_more("durable-sqlite/sql/inbox.sql"),
            "durable-postgres/sql/inbox.sql:1:",
            "the other",
        );
        assert_eq!(found(check, &[("durable-sqlite/sql/poll.sql", statement)]), [""; 0]);
    }

    #[test]
    fn a_table_without_its_schema_is_found_on_postgresql_only() {
        let file = "durable-postgres/sql/a.sql";
        for text in [
            "-- G1\nSELECT 1\nFROM instances",
            "-- G1\nWITH a AS (SELECT 1)\nUPDATE runs SET b = 1",
            "-- G1\n\nINSERT INTO inbox VALUES (1)",
        ] {
            one(check, &[(file, text)], &format!("{file}:3:"), "without its schema");
            assert_eq!(found(check, &[(FILE, text)]), [""; 0]);
        }
        let good =
            "-- G1 from instances\nSELECT instances.id FROM durable.instances AS i, unnest($1) AS runs";
        assert_eq!(found(check, &[(file, good)]), [""; 0]);
    }

    #[test]
    fn a_clock_elsewhere_or_in_a_sub_select_is_not() {
        for text in [
            "-- G7\nSELECT a FROM t WHERE due_at <= (SELECT COALESCE($1, clock_timestamp())) AND b",
            "-- G7\nUPDATE t SET at = clock_timestamp() WHERE id = $1 RETURNING clock_timestamp()",
            "-- G7\nWITH n AS (SELECT clock_timestamp() AS at) SELECT a FROM t, n WHERE t.b < n.at",
            "-- G7\nSELECT a FROM t WHERE b = 'clock_timestamp()' -- clock_timestamp()",
        ] {
            assert_eq!(found(check, &[(FILE, text)]), [""; 0], "{text}");
        }
    }
}
