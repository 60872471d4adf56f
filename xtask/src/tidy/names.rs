//! Names: no file whose name says that nobody decided, no `get_` in a public interface.

use syn::visit::{self, Visit};
use syn::{Ident, ImplItemFn, ItemFn, ItemMod, ItemTrait, TraitItemFn, Visibility};

use super::Finding;
use super::tree::{Source, Tree};

const VAGUE: [&str; 6] = ["utils", "util", "helpers", "common", "manager", "misc"];

/// File and folder names of Rust sources, function names of library crates.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        findings.extend(vague(file));
        if file.is_library()
            && let Ok(syntax) = file.syntax()
        {
            let mut interface = Interface { file, findings: Vec::new() };
            interface.visit_file(&syntax);
            findings.extend(interface.findings);
        }
    }
    findings
}

fn vague(file: &Source) -> Option<Finding> {
    let stem = file.path.strip_suffix(".rs")?;
    let part = stem.split('/').find(|part| VAGUE.contains(part))?;
    Some(Finding::new(
        &file.path,
        1,
        format!("`{part}` names a module"),
        "the name says that nobody decided what belongs there",
        "name it after the one thing that it holds",
    ))
}

/// What other crates can call.
struct Interface<'a> {
    file: &'a Source,
    findings: Vec<Finding>,
}

impl Interface<'_> {
    fn named(&mut self, name: &Ident) {
        let text = name.to_string();
        if let Some(noun) = text.strip_prefix("get_") {
            self.findings.push(Finding::new(
                &self.file.path,
                name.span().start().line,
                format!("`{text}` is public"),
                "accessors are named after what they return",
                format!("call it `{noun}`"),
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Interface<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if matches!(item.vis, Visibility::Public(_)) {
            self.named(&item.sig.ident);
        }
        // What is declared inside a body is not public.
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        // An implementation of a trait has no choice, and no `pub`: a trait of ours is found where it is declared.
        if matches!(item.vis, Visibility::Public(_)) {
            self.named(&item.sig.ident);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        if matches!(item.vis, Visibility::Public(_)) {
            visit::visit_item_trait(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.named(&item.sig.ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    #[test]
    fn a_vague_file_or_folder_name_is_found() {
        for path in [
            "src/utils.rs",
            "durable-core/src/helpers.rs",
            "tests/common/mod.rs",
            "xtask/src/misc.rs",
            "src/manager/a.rs",
        ] {
            one(check, &[(path, "")], path, "names a module");
        }
        assert_eq!(found(check, &[("durable-macros/src/helper.rs", ""), ("docs/common.md", "")]), [""; 0]);
    }

    #[test]
    fn get_in_a_public_interface_is_found() {
        for code in [
            "pub fn get_run() {}",
            "impl A { pub fn get_run(&self) {} }",
            "pub trait A { fn get_run(&self); }",
            "pub mod a { pub fn get_run() {} }",
        ] {
            one(check, &[("durable-core/src/a.rs", code)], "durable-core/src/a.rs:1:", "call it `run`");
        }
    }

    #[test]
    fn get_is_free_where_nobody_else_calls_it() {
        let code = "fn get_a() {} pub(crate) fn get_b() {} impl Foreign for A { fn get_c(&self) {} } \
                    impl A { fn get_d(&self) {} pub fn get(&self) {} } fn f() { pub fn get_e() {} }";
        assert_eq!(found(check, &[("durable-core/src/a.rs", code)]), [""; 0]);
        assert_eq!(found(check, &[("xtask/src/a.rs", "pub fn get_a() {}")]), [""; 0]);
    }
}
