//! The text of every statement, rendered once with the schema's quoted name and never changed again: each
//! connection parses and plans it once.

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

/// What stands for the schema in `sql/` and `migrations/`, so that the files are valid SQL as they are.
const PLACEHOLDER: &str = "durable.";

/// The same where the schema itself is named.
const PLACEHOLDER_ALONE: &str = "SCHEMA durable";

/// Puts the quoted schema's name where the files say `durable`.
pub(crate) fn render(text: &str, schema: &str) -> SqlStr {
    let quoted = format!("\"{}\"", schema.replace('"', "\"\""));
    let rendered = text
        .replace(PLACEHOLDER, &format!("{quoted}."))
        .replace(PLACEHOLDER_ALONE, &format!("SCHEMA {quoted}"));
    AssertSqlSafe(std::sync::Arc::<str>::from(rendered)).into_sql_str()
}

macro_rules! statements {
    ($($name:ident),* $(,)?) => {
        /// One field per file in `sql/`, of the same name.
        #[derive(Debug)]
        pub(crate) struct Statements {
            $(pub(crate) $name: SqlStr,)*
        }

        impl Statements {
            /// Renders every statement for this schema.
            pub(crate) fn render(schema: &str) -> Self {
                Self {
                    $($name: render(include_str!(concat!("../sql/", stringify!($name), ".sql")), schema),)*
                }
            }

            /// Every statement with its name.
            #[cfg(test)]
            fn names() -> Vec<&'static str> {
                vec![$(stringify!($name)),*]
            }
        }
    };
}

statements!(
    activity_claim,
    activity_claim_pick,
    activity_insert,
    activity_remove,
    activity_retry,
    activity_settle,
    activity_settle_lock,
    clock_read,
    due_sweep,
    history_end,
    history_insert,
    history_read,
    inbox_dedup,
    inbox_insert,
    inbox_pending,
    inbox_raise,
    inbox_read,
    inbox_status,
    instance_find,
    instance_view,
    instances_open,
    lease_reap_activities,
    lease_reap_instances,
    lease_renew_activities,
    lease_renew_instances,
    poll,
    schema_lock,
    schema_make,
    schema_patience,
    schema_present,
    schema_record,
    schema_table,
    schema_version,
    session_prepare,
    worker_deregister,
    worker_forget,
    worker_free_activities,
    worker_free_instances,
    worker_keepalive,
    worker_lock,
    worker_register,
    worker_supersede,
    worker_superseded,
    worker_unblock,
    worker_unlock,
    workflow_claim,
    workflow_claim_activities,
    workflow_claim_dead_letter,
    workflow_claim_inbox,
    workflow_claim_pick,
    workflow_close_activities,
    workflow_close_dedup,
    workflow_close_inbox,
    workflow_close_run,
    workflow_commit,
    workflow_commit_find,
    workflow_commit_inbox,
    workflow_commit_lock_activities,
    workflow_continue_run,
    workflow_start_existing,
    workflow_start_instance,
    workflow_start_request,
    workflow_start_run,
    workflow_start_withdraw,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_statement_and_every_statement_names_the_schema_quoted() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(files, Statements::names());
        let rendered = Statements::render("a \"b\" c");
        assert!(rendered.inbox_read.as_str().contains("FROM \"a \"\"b\"\" c\".inbox WHERE"));
        assert!(rendered.schema_make.as_str().ends_with("CREATE SCHEMA \"a \"\"b\"\" c\"\n"));
    }
}
