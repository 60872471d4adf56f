//! What may stand in no file: paths of the machine on which somebody happened to work.

use super::Finding;
use super::tree::Tree;

/// Put together here, so that this file is not its own first finding.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Every line of every file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| begins_a_path(line, path)) {
                findings.push(Finding::new(
                    &file.path,
                    index + 1,
                    format!("`{path}` is a path of one machine"),
                    "it exists nowhere else",
                    "write it relative to the repository, or take it from the environment",
                ));
            }
        }
    }
    findings
}

/// Whether the absolute path stands in the line: part of a longer one, or of an address, it means something else.
fn begins_a_path(line: &str, path: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | ')' | '>');
    line.match_indices(path).any(|(at, _)| {
        let before = &line[..at];
        before.ends_with("file://") || !before.ends_with(is_inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    #[test]
    fn an_absolute_path_of_a_machine_is_found_in_any_file() {
        for path in MACHINE_PATHS {
            for text in [format!("see\n{path}x"), format!("a\n\"{path}x\""), format!("a\nfile://{path}")] {
                one(check, &[("docs/a.md", &text)], "docs/a.md:2:", "path of one machine");
            }
        }
    }

    #[test]
    fn a_relative_path_or_an_address_is_not() {
        let inner = MACHINE_PATHS
            .map(|path| format!("docs{path}x https://example.org{path} ${{A}}{path}"))
            .join("\n");
        assert_eq!(found(check, &[("docs/a.md", &inner)]), [""; 0]);
    }
}
