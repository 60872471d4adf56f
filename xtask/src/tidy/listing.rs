//! Which tests a source file holds: functions with a test attribute, and names that a macro call or a macro's
//! definition lists (`conformance!`, `scenarios!`), which make one test each.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, Macro};

use super::tree::Tree;

/// The tests of the files asked for, each file read once.
pub(crate) struct Listings<'a> {
    tree: &'a Tree,
    read: BTreeMap<String, Listing>,
}

#[derive(Default)]
struct Listing {
    tests: BTreeSet<String>,
    ignored: BTreeSet<String>,
    in_macros: BTreeSet<String>,
}

impl<'a> Listings<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Self {
        Self { tree, read: BTreeMap::new() }
    }

    /// Whether `path/of/file.rs::fn_name` is a test that runs. A file under `tests/ui` is one as a whole.
    pub(crate) fn find(&mut self, name: &str) -> Result<(), String> {
        if name.contains("tests/ui/") && !name.contains("::") {
            return self.tree.find(name).map(|_| ()).ok_or_else(|| format!("there is no file `{name}`"));
        }
        let (path, function) =
            name.split_once(".rs::").ok_or_else(|| format!("`{name}` is not `path/of/file.rs::fn_name`"))?;
        let path = format!("{path}.rs");
        let function = function.rsplit("::").next().unwrap_or_default();
        let listing = match self.read.entry(path.clone()) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let file = self.tree.find(&path).ok_or_else(|| format!("there is no file `{path}`"))?;
                let syntax = file.syntax().map_err(|error| format!("`{path}` does not parse ({error})"))?;
                let mut listing = Listing::default();
                listing.visit_file(&syntax);
                entry.insert(listing)
            }
        };
        if listing.ignored.contains(function) {
            return Err(format!("the test `{function}` is ignored"));
        }
        let known = listing.tests.contains(function) || listing.in_macros.contains(function);
        known.then_some(()).ok_or_else(|| format!("there is no test `{function}` in `{path}`"))
    }
}

impl<'ast> Visit<'ast> for Listing {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.attrs.iter().any(|attribute| last_segment_is(attribute, "test")) {
            let ignored = item.attrs.iter().any(|attribute| last_segment_is(attribute, "ignore"));
            let names = if ignored { &mut self.ignored } else { &mut self.tests };
            names.insert(item.sig.ident.to_string());
        }
        // Macro calls inside a body make no tests.
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        idents(item.tokens.clone(), &mut self.in_macros);
        visit::visit_macro(self, item);
    }
}

fn last_segment_is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

fn idents(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => drop(found.insert(name.to_string())),
            TokenTree::Group(group) => idents(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted;

    #[test]
    fn tests_are_functions_with_an_attribute_or_names_that_a_macro_lists() {
        let text = "mod inner { #[tokio::test] async fn a() {} }\nscenarios! { backend, [b, c] }\n\
                    macro_rules! conformance { ($h:expr) => { case!(d, $h); } }\nfn e() { assert!(f()); }";
        let tree = planted::tree(&[("durable-testkit/src/suite.rs", text)]);
        let mut listings = Listings::new(&tree);
        for name in ["inner::a", "a", "b", "c", "d"] {
            assert_eq!(listings.find(&format!("durable-testkit/src/suite.rs::{name}")), Ok(()), "{name}");
        }
        for name in ["e", "f", "z"] {
            assert!(listings.find(&format!("durable-testkit/src/suite.rs::{name}")).is_err(), "{name}");
        }
    }

    #[test]
    fn a_ui_program_is_a_test_as_a_whole() {
        let tree = planted::tree(&[("tests/ui/fail/a.rs", "fn main( {")]);
        assert_eq!(Listings::new(&tree).find("tests/ui/fail/a.rs"), Ok(()));
        assert!(Listings::new(&tree).find("tests/ui/fail/b.rs").is_err());
    }
}
