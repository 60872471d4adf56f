//! `docs/guarantees.md` has a row for each guarantee; the row says what proves it: a test that cites the number,
//! or for now the step that will.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::Finding;
use super::tree::{Source, Tree};

/// The guarantees that there are.
pub(crate) const ALL: RangeInclusive<u32> = 1..=15;
const PAGE: &str = "docs/guarantees.md";

/// The rows of the page against what the tests cite.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rows: Vec<Row> = tree.find(PAGE).map(|page| rows(&page.text)).unwrap_or_default();
    let proven: BTreeSet<u32> =
        tree.files.iter().filter(|file| is_test(file)).flat_map(|file| cited(&file.text)).collect();
    ALL.filter_map(|number| match rows.iter().find(|row| row.number == number) {
        None => Some(Finding::new(
            PAGE,
            1,
            format!("G{number} has no row"),
            "each guarantee says what proves it",
            format!("add `| G{number} | what it promises | proven by |`"),
        )),
        Some(row) if !row.pending && !proven.contains(&number) => Some(Finding::new(
            PAGE,
            row.line,
            format!("no test cites G{number}"),
            "a promise that nothing checks will be broken",
            format!("name G{number} in the test that proves it, or `step N` in the row until there is one"),
        )),
        Some(_) => None,
    })
    .collect()
}

struct Row {
    number: u32,
    line: usize,
    /// Whether the last cell names the step that will prove it.
    pending: bool,
}

fn rows(text: &str) -> Vec<Row> {
    let parsed = text.lines().enumerate().filter_map(|(index, line)| {
        let cells: Vec<&str> =
            line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let number = cells.first()?.strip_prefix('G')?.parse().ok()?;
        let pending =
            cells.last().is_some_and(|last| (1..=9).any(|step| last.contains(&format!("step {step}"))));
        Some(Row { number, line: index + 1, pending })
    });
    parsed.collect()
}

/// Tests and the conformance suite; not this program's, which plant numbers.
fn is_test(file: &Source) -> bool {
    let holds_tests =
        file.is_in("tests") || file.path.starts_with("durable-testkit/src/") || file.text.contains("#[test]");
    holds_tests && file.has_extension("rs") && !file.path.starts_with("xtask/")
}

/// The numbers that a text cites as `G1`, `G2` …, as words of their own.
pub(crate) fn cited(text: &str) -> BTreeSet<u32> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter_map(|word| word.strip_prefix('G')?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    fn page(row_of_g3: &str) -> String {
        let row =
            |number| if number == 3 { row_of_g3.to_owned() } else { format!("| G{number} | x | step 2 |\n") };
        ALL.map(row).collect()
    }

    #[test]
    fn a_guarantee_that_no_test_cites_is_found() {
        let page = page("| G3 | x | the suite |\n");
        one(
            check,
            &[(PAGE, &page), ("tests/it/a.rs", "// G33, AG3, G3x"), ("xtask/tests/b.rs", "// G3")],
            "docs/guarantees.md:3:",
            "no test cites G3",
        );
        assert_eq!(found(check, &[(PAGE, &page), ("tests/it/a.rs", "// G3: stale owners")]), [""; 0]);
    }

    #[test]
    fn a_missing_row_and_a_missing_page_are_found() {
        one(check, &[(PAGE, &page(""))], "docs/guarantees.md:1:", "G3 has no row");
        assert_eq!(found(check, &[]).len(), 15);
    }
}
