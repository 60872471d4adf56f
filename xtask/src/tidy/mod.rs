//! `cargo xtask tidy`: the project's own rules, each in a module of its own. A rule reads the [`Tree`] and
//! returns findings; it prints nothing and changes nothing.

mod cases;
mod docs;
mod guarantees;
mod layers;
mod lengths;
mod listing;
mod literals;
mod names;
mod paths;
mod sql;
mod tree;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use tree::Tree;

/// One broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
    why: &'static str,
    remedy: String,
}

impl Finding {
    fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        why: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), why, remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}; {}", self.path, self.line, self.what, self.why, self.remedy)
    }
}

/// Checks every rule, prints the findings and the state of the cases, and fails if there is a finding.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let (mut findings, counts) = cases::check(&tree);
    findings.extend(rules().into_iter().flat_map(|rule| rule(&tree)));
    findings.extend(layers::dependency_tree(&tree)?);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{counts}");
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy found 1 broken rule"),
        many => bail!("tidy found {many} broken rules"),
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

fn rules() -> [Rule; 9] {
    [
        layers::check,
        layers::manifest,
        literals::check,
        sql::check,
        lengths::check,
        names::check,
        docs::check,
        guarantees::check,
        words::check,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_place_what_why_and_what_to_do() {
        let finding = Finding::new("a/b.rs", 7, "`x` is here", "it may not be", "move it");
        assert_eq!(finding.to_string(), "a/b.rs:7: `x` is here: it may not be; move it");
    }
}
