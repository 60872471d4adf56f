//! How long a source file and a function may be. A file at its limit holds two things; a function fits on a
//! screen. Tests, which are read one by one, may be longer.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use super::Finding;
use super::tree::{Source, Tree};

struct Limits {
    file: usize,
    function: usize,
}

const CODE: Limits = Limits { file: 500, function: 70 };
const TESTS: Limits = Limits { file: 1500, function: 150 };

/// Every Rust file. The programs under `tests/ui` need not even parse.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let limits = if file.is_in("tests") { TESTS } else { CODE };
        let lines = file.text.lines().count();
        if lines > limits.file {
            findings.push(too_long(file, lines, &limits));
        }
        match file.syntax() {
            Ok(syntax) => {
                let mut functions = Functions { file, limit: limits.function, findings: Vec::new() };
                functions.visit_file(&syntax);
                findings.extend(functions.findings);
            }
            Err(_) if file.is_in("ui") => {}
            Err(error) => findings.push(unreadable(file, &error)),
        }
    }
    findings
}

fn too_long(file: &Source, lines: usize, limits: &Limits) -> Finding {
    Finding::new(
        &file.path,
        limits.file + 1,
        format!("{lines} lines, {} are allowed", limits.file),
        "a file of this length holds two things",
        "find the second one and move it to a file that is named after it",
    )
}

fn unreadable(file: &Source, error: &syn::Error) -> Finding {
    Finding::new(
        &file.path,
        error.span().start().line,
        format!("it does not parse ({error})"),
        "no rule can be checked on it",
        "correct it, or put a program that must not compile under `tests/ui`",
    )
}

struct Functions<'a> {
    file: &'a Source,
    limit: usize,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    /// Counts from the line of `fn` and its qualifiers to the closing brace: attributes and documentation are free.
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let first = line(signature.fn_token.span);
        let lines = line(block.brace_token.span.close()) + 1 - first;
        if lines > self.limit {
            self.findings.push(Finding::new(
                &self.file.path,
                first,
                format!("`{}` has {lines} lines, {} are allowed", signature.ident, self.limit),
                "a function has to fit on a screen",
                "take out the parts that have names of their own",
            ));
        }
    }
}

fn line(span: Span) -> usize {
    span.start().line
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    fn function(lines: usize) -> String {
        format!("/// Doc.\n#[inline]\nfn long() {{\n{}}}\n", "    f();\n".repeat(lines - 2))
    }

    #[test]
    fn a_source_file_over_500_lines_is_found_and_a_test_file_over_1500() {
        let text = "// x\n".repeat(501);
        one(check, &[("src/a.rs", &text)], "src/a.rs:501:", "501 lines, 500 are allowed");
        assert_eq!(found(check, &[("tests/it/a.rs", &text)]), [""; 0]);
        one(check, &[("tests/it/a.rs", &"// x\n".repeat(1501))], "tests/it/a.rs:1501:", "1500 are allowed");
    }

    #[test]
    fn a_function_over_70_lines_is_found_on_its_line() {
        one(check, &[("src/a.rs", &function(71))], "src/a.rs:3:", "`long` has 71 lines");
        assert_eq!(found(check, &[("src/a.rs", &function(70))]), [""; 0]);
        assert_eq!(found(check, &[("tests/a.rs", &function(150))]), [""; 0]);
        one(check, &[("tests/a.rs", &function(151))], "tests/a.rs:3:", "150 are allowed");
    }

    #[test]
    fn methods_defaults_and_nested_functions_count_too() {
        for wrapped in ["impl A { @ }", "trait A { @ }", "mod a { mod b { @ } }", "fn g() { @ }"] {
            let text = wrapped.replace('@', &function(80));
            let lines = found(check, &[("src/a.rs", &text)]);
            assert!(lines.iter().any(|line| line.contains("`long` has 80 lines")), "{wrapped}: {lines:?}");
        }
    }

    #[test]
    fn a_file_that_does_not_parse_is_found_but_not_under_ui() {
        one(check, &[("src/a.rs", "fn f() {\n  let = 1;\n}")], "src/a.rs:2:", "does not parse");
        assert_eq!(found(check, &[("tests/ui/fail/a.rs", "fn f( {")]), [""; 0]);
    }
}
