//! The files that the rules look at: everything in the repository that git does not ignore, read once.
//! Without git, the folder itself, without what builds leave behind.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use proc_macro2::TokenStream;

/// One file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    /// Bytes that are not UTF-8 are replaced; no rule depends on them.
    pub(crate) text: String,
}

impl Source {
    /// Whether a folder of this name is on the file's path.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.rsplit_once('/').is_some_and(|(folders, _)| folders.split('/').any(|part| part == folder))
    }

    /// The file's name without folders.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.name().rsplit_once('.').is_some_and(|(stem, found)| !stem.is_empty() && found == extension)
    }

    /// Whether it is the source of a library crate (the command line tools and this one are programs).
    pub(crate) fn is_library(&self) -> bool {
        let library = match self.path.split_once("/src/") {
            Some((folder, _)) => folder.starts_with("durable-") && folder != "durable-cli",
            None => self.path.starts_with("src/"),
        };
        library && self.has_extension("rs")
    }

    /// The tokens of a Rust file: comments are gone, strings are literals. `None` for what does not lex,
    /// which [`Source::syntax`] reports.
    pub(crate) fn tokens(&self) -> Option<TokenStream> {
        self.text.parse().ok()
    }

    pub(crate) fn syntax(&self) -> syn::Result<syn::File> {
        syn::parse_file(&self.text)
    }
}

/// All files, sorted by path.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<Source>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walked(root)
                .with_context(|| format!("the files under {} cannot be listed", root.display()))?,
        };
        paths.sort();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let full = root.join(&path);
            // Git still lists a file that was deleted and not yet committed.
            if full.is_file() {
                let bytes =
                    std::fs::read(&full).with_context(|| format!("{} cannot be read", full.display()))?;
                files.push(Source { path, text: String::from_utf8_lossy(&bytes).into_owned() });
            }
        }
        Ok(Self { root: root.to_path_buf(), files })
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Source> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|index| &self.files[index])
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }
}

/// Tracked files and those that would be, so that a rule speaks before the commit. `None` where there is no git
/// or no repository whose root this is: a source archive is checked as well.
fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let mut command = Command::new("git");
    command.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walked(root: &Path) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() && name != "target" && name != ".git" {
                open.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
pub(crate) mod planted {
    //! A tree in a temporary folder, for the tests that plant a violation.

    use super::Tree;

    /// The tree of these files, each a path and its text.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let full = folder.path().join(path);
            std::fs::create_dir_all(full.parent().expect("a parent")).expect("the folder is made");
            std::fs::write(full, text).expect("the file is written");
        }
        Tree::read(folder.path()).expect("the tree is read")
    }

    /// What the rule says about these files, one line each.
    pub(crate) fn found(rule: fn(&Tree) -> Vec<crate::tidy::Finding>, files: &[(&str, &str)]) -> Vec<String> {
        let mut findings = rule(&tree(files));
        findings.sort();
        findings.iter().map(ToString::to_string).collect()
    }

    /// Demands exactly one finding, with this beginning and this text in it.
    pub(crate) fn one(
        rule: fn(&Tree) -> Vec<crate::tidy::Finding>,
        files: &[(&str, &str)],
        begins: &str,
        contains: &str,
    ) {
        let lines = found(rule, files);
        assert_eq!(lines.len(), 1, "one finding expected: {lines:#?}");
        assert!(lines[0].starts_with(begins) && lines[0].contains(contains), "{}", lines[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_folder_is_walked_without_what_builds_leave() {
        let tree = planted::tree(&[("src/lib.rs", ""), ("target/x.rs", "y"), ("z.md", "")]);
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/lib.rs", "z.md"]);
        assert!(tree.find("z.md").is_some() && tree.find("target/x.rs").is_none());
    }

    #[test]
    fn library_sources_are_the_facade_and_the_crates_but_not_the_programs() {
        let library = |path: &str| Source { path: path.to_owned(), text: String::new() }.is_library();
        assert!(library("src/lib.rs") && library("durable-core/src/engine/mod.rs"));
        assert!(!library("durable-cli/src/main.rs") && !library("xtask/src/main.rs"));
        assert!(!library("durable-sqlite/tests/a.rs") && !library("durable-sqlite/src/sql/a.sql"));
    }
}
