//! SQL lives in `sql/` and `migrations/`, not in string literals of library code. `PRAGMA` and the words that
//! open and close a transaction are the exception, and not even those in the runtime and the client.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Lit;

use super::Finding;
use super::tree::{Source, Tree};

const TEST_FOLDERS: [&str; 3] = ["tests", "examples", "benches"];

/// Every literal of every Rust file that is no test and no example.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| !is_test(file)).flat_map(in_file).collect()
}

fn is_test(file: &Source) -> bool {
    TEST_FOLDERS.iter().any(|folder| file.is_in(folder)) || file.name() == "tests.rs"
}

fn in_file(file: &Source) -> Vec<Finding> {
    let module = file.path.strip_prefix("durable-core/src/").map(super::paths::module_of).unwrap_or_default();
    let storage_free = module.first().is_some_and(|first| matches!(first.as_str(), "runtime" | "client"));
    let mut literals = Vec::new();
    if let Some(tokens) = file.tokens() {
        strings(tokens, &mut literals);
    }
    let broken =
        literals.into_iter().filter(|(_, text)| is_sql(text) || storage_free && controls_a_connection(text));
    broken.map(|(line, text)| finding(file, line, &text)).collect()
}

fn finding(file: &Source, line: usize, text: &str) -> Finding {
    let begin: String = text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    Finding::new(
        &file.path,
        line,
        format!("SQL in a string literal (`{begin} …`)"),
        "a statement has one place, where both backends can be held side by side",
        "move it to a file in `sql/` and read it with `include_str!`",
    )
}

/// The string literals in the tokens, but for documentation and what only tests compile.
fn strings(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut only_for_tests = false;
    let mut after_hash = false;
    for token in tokens {
        let hash =
            matches!(&token, TokenTree::Punct(p) if p.as_char() == '#' || after_hash && p.as_char() == '!');
        match token {
            TokenTree::Group(group) if after_hash && group.delimiter() == Delimiter::Bracket => {
                only_for_tests |= is_test_condition(&group.stream());
                if !begins_with(&group.stream(), "doc") {
                    strings(group.stream(), found);
                }
            }
            TokenTree::Group(group) => {
                if !only_for_tests {
                    strings(group.stream(), found);
                }
                only_for_tests &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => only_for_tests &= punct.as_char() != ';',
            TokenTree::Literal(literal) if !only_for_tests => {
                let line = literal.span().start().line;
                if let Lit::Str(text) = Lit::new(literal) {
                    found.push((line, text.value()));
                }
            }
            TokenTree::Literal(_) | TokenTree::Ident(_) => {}
        }
        after_hash = hash;
    }
}

fn begins_with(tokens: &TokenStream, name: &str) -> bool {
    matches!(tokens.clone().into_iter().next(), Some(TokenTree::Ident(first)) if first == name)
}

/// Exactly `cfg(test)`, or a test function; `cfg(any(test, …))` is compiled elsewhere too.
fn is_test_condition(attribute: &TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "cfg(test)" || text == "test" || text.starts_with("tokio::test")
}

/// Whether the text is a statement and not a sentence that happens to hold its words.
fn is_sql(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '*' && c != '$')
        .filter(|word| !word.is_empty())
        .collect();
    let shouted = (0..words.len()).any(|at| statement_at(&words[at..], |word, keyword| word == keyword));
    let from_the_start = statement_at(&words, str::eq_ignore_ascii_case);
    // In lower case "select a run from the list" is prose; a star or a condition is not.
    let prose = words.first().is_some_and(|first| *first == "select")
        && !words.iter().any(|word| matches!(*word, "*" | "where"));
    shouted || from_the_start && !prose
}

fn statement_at(words: &[&str], same: impl Fn(&str, &str) -> bool) -> bool {
    let follows = |at: usize, keywords: &[&str]| {
        words.get(at).is_some_and(|word| keywords.iter().any(|keyword| same(word, keyword)))
    };
    let [first, ..] = words else { return false };
    if same(first, "SELECT") {
        return words.iter().any(|word| same(word, "FROM"))
            || words.get(1).is_some_and(|word| word.parse::<u64>().is_ok());
    }
    same(first, "INSERT") && follows(1, &["INTO", "OR"])
        || same(first, "REPLACE") && follows(1, &["INTO"])
        || same(first, "DELETE") && follows(1, &["FROM"])
        || same(first, "UPDATE") && follows(2, &["SET"])
        || ["CREATE", "ALTER", "DROP"].iter().any(|verb| same(first, verb))
            && follows(1, &["TABLE", "INDEX", "UNIQUE", "TRIGGER", "VIEW", "SCHEMA"])
}

fn controls_a_connection(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';');
    text.starts_with("PRAGMA ")
        || text.starts_with("BEGIN ")
        || matches!(text, "BEGIN" | "COMMIT" | "ROLLBACK")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    const PROVIDER: &str = "durable-sqlite/src/claim.rs";

    #[test]
    fn statements_in_library_code_are_found_also_in_macros_and_raw_strings() {
        for code in [
            "const A: &str = \"SELECT id FROM runs\";",
            "fn f() { query(\"INSERT INTO runs VALUES (1)\") }",
            "fn f() { x!(r#\"\n  UPDATE runs SET a = 1\"#) }",
            "fn f() { g(\"delete from runs\") }",
            "fn f() { g(\"select * from runs\") }",
            "fn f() { g(\"WITH l AS (SELECT 1) TABLE l\") }",
            "fn f() { g(\"CREATE TABLE t (a INTEGER)\") }",
            "#[cfg(not(test))] fn f() { g(\"SELECT 1\") }",
            "#[cfg(test)] mod tests; fn f() { g(\"SELECT 1\") }",
        ] {
            one(check, &[(PROVIDER, code)], &format!("{PROVIDER}:1:"), "SQL in a string literal");
        }
    }

    #[test]
    fn prose_documentation_transactions_and_tests_are_not() {
        let code = "//! SELECT a FROM b\n/// DELETE FROM t\nfn f() { g(\"PRAGMA journal_mode\"); g(\"BEGIN IMMEDIATE\"); \
                    h(\"the update of a run was refused\"); h(\"select a run from the list\"); }\n\
                    #[cfg(test)]\nmod tests { fn t() { g(\"SELECT a FROM b\") } }";
        assert_eq!(found(check, &[(PROVIDER, code)]), [""; 0]);
        for path in ["tests/it/a.rs", "durable-sqlite/tests/a.rs", "examples/checkout/shop.rs"] {
            assert_eq!(found(check, &[(path, "const A: &str = \"SELECT id FROM runs\";")]), [""; 0]);
        }
    }

    #[test]
    fn runtime_and_client_hold_not_even_transaction_words() {
        let code = "fn f() { g(\"BEGIN IMMEDIATE\") }";
        one(
            check,
            &[("durable-core/src/runtime/commit.rs", code)],
            "durable-core/src/runtime/commit.rs:1:",
            "SQL",
        );
        one(check, &[("durable-core/src/client.rs", code)], "durable-core/src/client.rs:1:", "SQL");
    }
}
