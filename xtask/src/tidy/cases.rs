//! `tests/cases.toml` maps every case that the product is held to onto the tests that prove it, names what a
//! backend cannot have with the reason, and what is pending with the step that adds it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use super::Finding;
use super::listing::Listings;
use super::tree::Tree;

const FILE: &str = "tests/cases.toml";
const STEPS: RangeInclusive<u8> = 1..=9;
const BACKENDS: [&str; 6] = ["engine", "memory", "sqlite", "postgres", "macros", "ui"];

/// Rows of the failure reports; the numbers between them are used by no case.
const REPORTS: [u32; 62] = [
    1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 16, 17, 18, 20, 21, 23, 24, 25, 27, 28, 29, 32, 33, 35, 37, 38, 39,
    41, 42, 43, 46, 47, 50, 51, 53, 54, 55, 57, 58, 61, 62, 63, 64, 65, 66, 67, 69, 70, 71, 72, 73, 74, 77,
    78, 80, 81, 82, 83, 85, 86, 87,
];

/// Every case: engine, provider, authoring, reports.
fn case_ids() -> impl Iterator<Item = String> {
    let numbered = [("E", 32), ("P", 68), ("A", 16)].into_iter();
    let ranges =
        numbered.flat_map(|(letter, last)| (1..=last).map(move |number| format!("{letter}{number}")));
    ranges.chain(REPORTS.iter().map(|number| format!("R{number}")))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Backend to its tests, each `path/of/file.rs::fn_name`.
    #[serde(default)]
    tests: BTreeMap<String, Tests>,
    /// Backend to the reason why it cannot have the case.
    #[serde(default)]
    excluded: BTreeMap<String, String>,
    pending: Option<Pending>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tests {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending {
    step: u8,
    why: String,
    /// What is pending if the rest is there; empty for the whole case.
    #[serde(default)]
    backends: Vec<String>,
}

impl Tests {
    fn names(&self) -> &[String] {
        match self {
            Tests::One(name) => std::slice::from_ref(name),
            Tests::Many(names) => names,
        }
    }
}

/// How many cases are proven, in part, or pending for which step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    proven: usize,
    partly: usize,
    pending: BTreeMap<u8, usize>,
    tests: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending: usize = self.pending.values().sum();
        let total = self.proven + self.partly + pending;
        write!(f, "cases: {total}, of them {} proven", self.proven)?;
        write!(f, ", {} proven in part, by {} tests; {pending} pending", self.partly, self.tests)?;
        for (step, count) in &self.pending {
            write!(f, ", step {step}: {count}")?;
        }
        Ok(())
    }
}

/// Checks the file and counts its cases.
pub(crate) fn check(tree: &Tree) -> (Vec<Finding>, Counts) {
    let mut counts = Counts::default();
    let Some(file) = tree.find(FILE) else {
        return (
            vec![finding(1, "it does not exist".to_owned(), "create it, with a line for every case")],
            counts,
        );
    };
    let line_of = |offset: usize| 1 + file.text[..offset.min(file.text.len())].matches('\n').count();
    let cases: BTreeMap<String, Spanned<Case>> = match toml::from_str(&file.text) {
        Ok(cases) => cases,
        Err(error) => {
            let line = line_of(error.span().map_or(0, |span| span.start));
            return (vec![finding(line, error.message().to_owned(), "correct the entry")], counts);
        }
    };
    let mut checker =
        Checker { listings: Listings::new(tree), required: required(tree), findings: Vec::new() };
    for id in case_ids() {
        match cases.get(&id) {
            Some(case) => checker.case(&id, line_of(case.span().start), case.get_ref(), &mut counts),
            None => checker.report(1, format!("{id} is missing"), "add it with its tests, or as pending"),
        }
    }
    for (id, case) in &cases {
        if !case_ids().any(|known| known == *id) {
            checker.report(
                line_of(case.span().start),
                format!("there is no case {id}"),
                "correct or remove it",
            );
        }
    }
    (checker.findings, counts)
}

fn finding(line: usize, what: String, remedy: impl Into<String>) -> Finding {
    Finding::new(FILE, line, what, "every case is proven, excluded with a reason, or pending", remedy)
}

/// The storage backends that a case about storage has to account for.
fn required(tree: &Tree) -> Vec<&'static str> {
    let postgres = tree.find("durable-postgres/Cargo.toml").map(|_| "postgres");
    ["memory", "sqlite"].into_iter().chain(postgres).collect()
}

struct Checker<'a> {
    listings: Listings<'a>,
    required: Vec<&'static str>,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn report(&mut self, line: usize, what: String, remedy: &str) {
        self.findings.push(finding(line, what, remedy));
    }

    fn case(&mut self, id: &str, line: usize, case: &Case, counts: &mut Counts) {
        self.backends(id, line, case);
        self.existing_tests(id, line, case);
        self.reasons(id, line, case);
        if case.pending.as_ref().is_none_or(|pending| !pending.backends.is_empty()) {
            self.completeness(id, line, case);
        }
        counts.tests += case.tests.values().map(|tests| tests.names().len()).sum::<usize>();
        match &case.pending {
            None => counts.proven += 1,
            Some(_) if !case.tests.is_empty() => counts.partly += 1,
            Some(pending) => *counts.pending.entry(pending.step).or_default() += 1,
        }
    }

    fn backends(&mut self, id: &str, line: usize, case: &Case) {
        let pending = case.pending.iter().flat_map(|pending| &pending.backends);
        for backend in case.tests.keys().chain(case.excluded.keys()).chain(pending) {
            if !BACKENDS.contains(&backend.as_str()) {
                let remedy = format!("use one of {}", BACKENDS.join(", "));
                self.report(line, format!("{id} names the unknown backend `{backend}`"), &remedy);
            }
        }
        for backend in case.excluded.keys().filter(|backend| case.tests.contains_key(*backend)) {
            self.report(
                line,
                format!("{id} is both tested and excluded on {backend}"),
                "keep one of the two",
            );
        }
    }

    fn existing_tests(&mut self, id: &str, line: usize, case: &Case) {
        for (backend, tests) in &case.tests {
            if tests.names().is_empty() {
                self.report(
                    line,
                    format!("{id} has an empty list of tests on {backend}"),
                    "name one, or remove it",
                );
            }
            for name in tests.names() {
                if let Err(problem) = self.listings.find(name) {
                    let remedy = "name an existing test as `path/of/file.rs::fn_name`";
                    self.report(line, format!("{id} on {backend}: {problem}"), remedy);
                }
            }
        }
    }

    fn reasons(&mut self, id: &str, line: usize, case: &Case) {
        for (backend, _) in case.excluded.iter().filter(|(_, reason)| reason.trim().is_empty()) {
            self.report(
                line,
                format!("{id} is excluded on {backend} without a reason"),
                "say why it cannot be had",
            );
        }
        let Some(pending) = &case.pending else { return };
        if !STEPS.contains(&pending.step) {
            let what = format!("{id} is pending for step {}", pending.step);
            self.report(line, what, "name a step from 1 to 9");
        }
        if pending.why.trim().is_empty() {
            self.report(line, format!("{id} is pending without a reason"), "say what it waits for");
        }
    }

    /// A case that is not pending as a whole has a test, and where storage is involved an answer for each backend.
    fn completeness(&mut self, id: &str, line: usize, case: &Case) {
        if case.tests.is_empty() {
            self.report(line, format!("{id} has no test"), "name one, or the step that adds it as `pending`");
            return;
        }
        let pending =
            |backend: &str| case.pending.iter().any(|pending| pending.backends.iter().any(|b| b == backend));
        let named = |backend: &str| {
            case.tests.contains_key(backend) || case.excluded.contains_key(backend) || pending(backend)
        };
        let storage = id.starts_with('P') || ["memory", "sqlite", "postgres"].into_iter().any(named);
        let missing: Vec<&str> =
            self.required.iter().copied().filter(|backend| storage && !named(backend)).collect();
        for backend in missing {
            let remedy = "add its test, its exclusion with a reason, or the backend to `pending.backends`";
            self.report(line, format!("{id} says nothing about {backend}"), remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted;

    /// The file with every case pending, but for these lines.
    fn file(lines: &str) -> String {
        let given = |id: &str| lines.lines().any(|line| line.starts_with(&format!("{id} ")));
        let others = case_ids().filter(|id| !given(id));
        let pending = others.map(|id| format!("{id} = {{ pending = {{ step = 2, why = \"later\" }} }}\n"));
        format!("{lines}\n{}", pending.collect::<String>())
    }

    fn found(lines: &str) -> Vec<String> {
        let text = file(lines);
        let source =
            ("tests/it/a.rs", "#[test]\nfn works() {}\nfn plain() {}\n#[test]\n#[ignore]\nfn asleep() {}");
        let (findings, _) = check(&planted::tree(&[(FILE, &text), source]));
        findings.iter().map(ToString::to_string).collect()
    }

    fn one(lines: &str, contains: &str) {
        let found = found(lines);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].starts_with("tests/cases.toml:") && found[0].contains(contains), "{}", found[0]);
    }

    #[test]
    fn the_list_of_cases_is_complete() {
        assert_eq!(case_ids().count(), 32 + 68 + 16 + REPORTS.len());
    }

    #[test]
    fn a_missing_and_an_unknown_case_are_found() {
        let text = file("").replace("E7 = ", "E77 = ");
        let (findings, _) = check(&planted::tree(&[(FILE, &text)]));
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert!(
            lines.len() == 2 && lines[0].contains("E7 is missing") && lines[1].contains("no case E77"),
            "{lines:#?}"
        );
        assert!(lines[1].starts_with("tests/cases.toml:8:"), "{}", lines[1]);
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        assert_eq!(found("E1 = { tests = { engine = \"tests/it/a.rs::works\" } }"), [""; 0]);
        one("E1 = { tests = { engine = \"tests/it/a.rs::gone\" } }", "no test `gone`");
        one(
            "E1 = { tests = { engine = [\"tests/it/a.rs::works\", \"tests/it/b.rs::works\"] } }",
            "no file `tests/it/b.rs`",
        );
        one("E1 = { tests = { engine = \"tests/it/a.rs::plain\" } }", "no test `plain`");
        one("E1 = { tests = { engine = \"tests/it/a.rs::asleep\" } }", "`asleep` is ignored");
        one("E1 = { tests = { engine = \"works\" } }", "`works` is not");
    }

    #[test]
    fn steps_reasons_and_backends_are_checked() {
        one("E1 = { pending = { step = 0, why = \"x\" } }", "step 0");
        one("E1 = { pending = { step = 10, why = \"x\" } }", "step 10");
        one("E1 = { pending = { step = 2, why = \" \" } }", "without a reason");
        one("E1 = { tests = { mysql = \"tests/it/a.rs::works\" } }", "unknown backend `mysql`");
        one("E1 = { excluded = { memory = \"x\" } }", "E1 has no test");
        let works = "tests = { memory = \"tests/it/a.rs::works\" }";
        one(&format!("P1 = {{ {works} }}"), "P1 says nothing about sqlite");
        one(
            &format!("E1 = {{ {works}, excluded = {{ sqlite = \"\" }} }}"),
            "excluded on sqlite without a reason",
        );
        one(
            &format!("E1 = {{ {works}, excluded = {{ sqlite = \"a\", memory = \"b\" }} }}"),
            "both tested and excluded",
        );
        let rest = "pending = { step = 4, why = \"x\", backends = [\"sqlite\"] }";
        assert_eq!(found(&format!("P1 = {{ {works}, {rest} }}")), [""; 0]);
    }

    #[test]
    fn a_malformed_or_missing_file_is_a_finding_and_no_panic() {
        for text in ["E1 = ", "E1 = { test = 1 }", "E1 = 3", "E1 = {}\nE1 = {}"] {
            let (findings, _) = check(&planted::tree(&[(FILE, text)]));
            assert_eq!(findings.len(), 1, "{text}: {findings:?}");
        }
        assert_eq!(check(&planted::tree(&[])).0.len(), 1);
    }

    #[test]
    fn once_postgres_is_there_it_has_to_be_accounted_for() {
        let text =
            file("P1 = { tests = { memory = \"tests/it/a.rs::works\", sqlite = \"tests/it/a.rs::works\" } }");
        let source = ("tests/it/a.rs", "#[tokio::test]\nasync fn works() {}");
        assert!(check(&planted::tree(&[(FILE, &text), source])).0.is_empty());
        let (findings, _) =
            check(&planted::tree(&[(FILE, &text), source, ("durable-postgres/Cargo.toml", "")]));
        assert!(
            findings.len() == 1 && findings[0].to_string().contains("nothing about postgres"),
            "{findings:?}"
        );
    }

    #[test]
    fn counts_tell_proven_partly_and_pending_apart() {
        let text = file(
            "E1 = { tests = { engine = \"tests/it/a.rs::works\" } }\n\
                         E2 = { tests = { engine = \"tests/it/a.rs::works\" }, pending = { step = 3, why = \"x\", backends = [\"ui\"] } }\n\
                         E3 = { pending = { step = 9, why = \"x\" } }",
        );
        let (_, counts) = check(&planted::tree(&[(FILE, &text), ("tests/it/a.rs", "#[test] fn works() {}")]));
        let total = case_ids().count();
        let expected = format!(
            "cases: {total}, of them 1 proven, 1 proven in part, by 2 tests; {} pending, step 2: {}, step 9: 1",
            total - 2,
            total - 3
        );
        assert_eq!(counts.to_string(), expected);
    }
}
