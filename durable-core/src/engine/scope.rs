//! Scopes and keys: the structural names of commands.
//!
//! A key is `scope/name#n`, the n-th command of that name that its scope built. An edit inside one
//! scope shifts no key of another.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::id::CommandKey;
use crate::id::IdSeed;
use crate::payload::derive;

/// A scope of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScopeId(usize);

impl ScopeId {
    /// The scope of the workflow fn itself.
    pub const ROOT: Self = Self(0);
}

#[derive(Debug, Default)]
struct Scope {
    path: String,
    counters: HashMap<String, u64>,
}

#[derive(Debug)]
pub(super) struct Scopes {
    nodes: Vec<Scope>,
    /// Long paths are folded with it, so that a key stays within the limit for names.
    seed: IdSeed,
}

/// Longest path kept as it is; together with a name of 128 bytes and a number it stays below 255.
const PATH_MAX_BYTES: usize = 100;
const NAME_MAX_BYTES: usize = 128;

impl Scopes {
    pub(super) fn new(seed: IdSeed) -> Self {
        Self { nodes: vec![Scope::default()], seed }
    }

    pub(super) fn mint(&mut self, scope: ScopeId, name: &str) -> CommandKey {
        let local = self.numbered(scope, name);
        let path = &self.nodes[scope.0].path;
        CommandKey(if path.is_empty() { local } else { format!("{path}/{local}") })
    }

    /// Opens the n-th scope of that name below `parent`, e.g. `join#1`.
    pub(super) fn open(&mut self, parent: ScopeId, name: &str) -> ScopeId {
        let local = self.numbered(parent, name);
        let path = match self.nodes[parent.0].path.as_str() {
            "" => local,
            path => format!("{path}/{local}"),
        };
        self.push(path)
    }

    /// Opens branch `index` of a scope, e.g. `join#1.0`.
    pub(super) fn branch(&mut self, scope: ScopeId, index: usize) -> ScopeId {
        let path = format!("{}.{index}", self.nodes[scope.0].path);
        self.push(path)
    }

    fn push(&mut self, path: String) -> ScopeId {
        let path = if path.len() > PATH_MAX_BYTES { self.folded(&path) } else { path };
        self.nodes.push(Scope { path, counters: HashMap::new() });
        ScopeId(self.nodes.len() - 1)
    }

    fn numbered(&mut self, scope: ScopeId, name: &str) -> String {
        let name = if name.len() > NAME_MAX_BYTES { self.folded(name) } else { name.to_owned() };
        let counter = self.nodes[scope.0].counters.entry(name.clone()).or_insert(0);
        *counter += 1;
        format!("{name}#{counter}")
    }

    fn folded(&self, text: &str) -> String {
        let hash = derive(self.seed, text);
        let mut folded = String::from("~");
        for byte in &hash[..12] {
            // Writing to a String cannot fail.
            let _infallible = write!(folded, "{byte:02x}");
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_per_scope_and_name_and_stay_short() {
        let mut scopes = Scopes::new(IdSeed(uuid::Uuid::nil()));
        let key = |scopes: &mut Scopes, scope, name: &str| scopes.mint(scope, name).0;
        assert_eq!(key(&mut scopes, ScopeId::ROOT, "ship"), "ship#1");
        let join = scopes.open(ScopeId::ROOT, "join");
        let (left, right) = (scopes.branch(join, 0), scopes.branch(join, 1));
        assert_eq!(key(&mut scopes, left, "ship"), "join#1.0/ship#1");
        assert_eq!(key(&mut scopes, left, "ship"), "join#1.0/ship#2");
        assert_eq!(key(&mut scopes, right, "ship"), "join#1.1/ship#1");
        assert_eq!(key(&mut scopes, ScopeId::ROOT, "ship"), "ship#2");
        let mut deep = ScopeId::ROOT;
        for _ in 0..100 {
            deep = scopes.open(deep, "block");
        }
        assert!(key(&mut scopes, deep, &"n".repeat(255)).len() <= 255);
    }
}
