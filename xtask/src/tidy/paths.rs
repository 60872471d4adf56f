//! The names in a Rust file, from its tokens: comments and strings cannot fool it, and what stands inside a
//! macro call is seen too. `use` trees are flattened and `self`, `super` and `crate` resolved.

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

/// A path as it stands in the source, e.g. `std::time::Instant`, or a single name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// Begins with `crate` where the path is one of this crate's own. A glob ends in `*`.
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// Whether an argument list follows.
    pub(crate) called: bool,
    /// Whether `fn` stands before it: a definition, no use.
    pub(crate) defined: bool,
}

/// Every path in the tokens of the module `module` (`["engine", "replay"]`).
pub(crate) fn named(tokens: TokenStream, module: &[String]) -> Vec<NamedPath> {
    let mut scan = Scan { module: module.to_vec(), found: Vec::new() };
    scan.stream(tokens, &[]);
    scan.found
}

/// The module path that a file's place gives it: `durable-core/src/engine/replay.rs` is `engine::replay`.
pub(crate) fn module_of(path_below_src: &str) -> Vec<String> {
    let stem = path_below_src.strip_suffix(".rs").unwrap_or(path_below_src);
    let mut parts: Vec<String> = stem.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

struct Scan {
    module: Vec<String>,
    found: Vec<NamedPath>,
}

impl Scan {
    /// Walks the tokens. In a `use` group, `prefix` is what stands before it, and holds for the first path of
    /// each comma-separated part.
    fn stream(&mut self, tokens: TokenStream, prefix: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut part_begins = true;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Ident(name) => {
                    let inherited = if part_begins { prefix } else { &[] };
                    part_begins = false;
                    at = self.path(&tokens, at, name, inherited);
                }
                TokenTree::Group(group) => {
                    self.stream(group.stream(), &[]);
                    at += 1;
                }
                TokenTree::Punct(punct) => {
                    part_begins |= punct.as_char() == ',';
                    if punct.as_char() == '*' && part_begins && !prefix.is_empty() {
                        let glob = [prefix, &["*".to_owned()]].concat();
                        self.push(&glob, punct.span().start().line, false, false);
                    }
                    at += 1;
                }
                TokenTree::Literal(_) => at += 1,
            }
        }
    }

    /// Reads the path that begins at `at`; returns the index behind it.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, first: &Ident, prefix: &[String]) -> usize {
        let line = first.span().start().line;
        let defined = at > 0 && is_ident(&tokens[at - 1], "fn");
        if let Some(behind) = self.inline_module(tokens, at) {
            return behind;
        }
        let mut segments = prefix.to_vec();
        segments.push(first.to_string());
        at += 1;
        while is_separator(tokens, at) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(next)) => segments.push(next.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => segments.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.stream(group.stream(), &segments);
                    return at + 3;
                }
                // A turbofish ends the path; what follows is read as a new one.
                _ => break,
            }
            at += 3;
        }
        let called =
            matches!(tokens.get(at), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
        self.push(&segments, line, called, defined);
        at
    }

    /// `mod name { … }` at `at`: walks it under its own module path, so that `super` means the right thing.
    fn inline_module(&mut self, tokens: &[TokenTree], at: usize) -> Option<usize> {
        let [TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Group(body)] =
            tokens.get(at..at + 3)?
        else {
            return None;
        };
        if keyword != "mod" {
            return None;
        }
        self.module.push(name.to_string());
        self.stream(body.stream(), &[]);
        self.module.pop();
        Some(at + 3)
    }

    fn push(&mut self, segments: &[String], line: usize, called: bool, defined: bool) {
        self.found.push(NamedPath { segments: self.resolved(segments), line, called, defined });
    }

    fn resolved(&self, segments: &[String]) -> Vec<String> {
        let ups = segments.iter().take_while(|segment| *segment == "super").count();
        let (kept, rest) = match segments.first().map(String::as_str) {
            Some("super") => (self.module.len().saturating_sub(ups), &segments[ups..]),
            Some("self") if segments.len() > 1 => (self.module.len(), &segments[1..]),
            // Inside macros a crate also names itself by its own name.
            Some("durable_core") => (0, &segments[1..]),
            _ => return segments.to_vec(),
        };
        let own = std::iter::once("crate".to_owned()).chain(self.module[..kept].iter().cloned());
        own.chain(rest.iter().cloned()).collect()
    }
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    match (tokens.get(at), tokens.get(at + 1)) {
        (Some(TokenTree::Punct(first)), Some(TokenTree::Punct(second))) => {
            first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':'
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        let tokens = code.parse().expect("tokens");
        named(tokens, &module).iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn use_trees_are_flattened() {
        let found = names("use std::{time::{Duration, Instant as I}, fmt::*};", &[]);
        for expected in ["std::time::Duration", "std::time::Instant", "std::fmt::*"] {
            assert!(found.iter().any(|name| name == expected), "{expected} in {found:?}");
        }
    }

    #[test]
    fn super_is_resolved_in_nested_inline_modules() {
        let module = ["engine", "replay"];
        assert!(names("use super::super::workflow::A;", &module).contains(&"crate::workflow::A".to_owned()));
        let found = names("mod tests { use super::super::A; } use super::B;", &module);
        for expected in ["crate::engine::A", "crate::engine::B"] {
            assert!(found.iter().any(|name| name == expected), "{expected} in {found:?}");
        }
    }

    #[test]
    fn comments_strings_and_documentation_hold_no_names() {
        let found = names("/// tokio\n//! tokio\n// tokio\nconst A: &str = \"tokio::spawn\";", &[]);
        assert!(!found.iter().any(|name| name.contains("tokio")), "{found:?}");
    }

    #[test]
    fn macro_arguments_are_seen() {
        assert!(names("fn f() { vec![tokio::spawn(x)] }", &[]).contains(&"tokio::spawn".to_owned()));
    }

    #[test]
    fn files_give_their_module_path() {
        assert_eq!(module_of("engine/mod.rs"), ["engine"]);
        assert_eq!(module_of("engine/replay.rs"), ["engine", "replay"]);
        assert!(module_of("lib.rs").is_empty());
    }
}
