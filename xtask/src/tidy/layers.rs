//! Which part of `durable-core` may know which: the engine is pure, workflow code knows no runtime library,
//! the contract knows no backend. Checked on paths in the token stream, so that prose and strings do not count.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Finding;
use super::paths::{self, NamedPath};
use super::tree::{Source, Tree};

const SOURCE: &str = "durable-core/src/";
const MANIFEST: &str = "durable-core/Cargo.toml";
const DATABASE_CRATES: [&str; 4] = ["sqlx", "rusqlite", "libsqlite3-sys", "tokio-postgres"];
const BACKENDS: [&str; 3] = ["sqlite", "postgres", "sqlx"];

/// What one module of `durable-core` may not know.
struct Layer {
    /// The module: its file, and everything in its folder.
    module: &'static str,
    why: &'static str,
    remedy: &'static str,
    /// Modules of this crate that it may not name.
    modules: &'static [&'static str],
    /// Names that may appear nowhere.
    names: &'static [&'static str],
    /// Endings of names that may appear nowhere.
    endings: &'static [&'static str],
    /// Functions that it may not call.
    calls: &'static [&'static str],
    /// Whether a name may hold that of a backend.
    backends_allowed: bool,
}

const NOTHING: Layer = Layer {
    module: "",
    why: "",
    remedy: "",
    modules: &[],
    names: &[],
    endings: &[],
    calls: &[],
    backends_allowed: true,
};

const LAYERS: &[Layer] = &[
    Layer {
        module: "engine",
        why: "the engine is pure: history in, commands out, no async, clock, randomness or I/O",
        remedy: "take the value as an argument, or move this code to the module that names it",
        modules: &["workflow", "activity", "runtime", "client", "provider"],
        names: &["tokio", "Instant", "SystemTime", "async", "await", "now_v7", "new_v4", "rand", "getrandom"],
        endings: &["Clock"],
        calls: &["fresh"],
        ..NOTHING
    },
    Layer {
        module: "workflow",
        why: "workflow code runs outside tokio and reaches the world through the engine only",
        remedy: "issue a command and let `runtime` do the work",
        modules: &["provider"],
        names: &["tokio"],
        ..NOTHING
    },
    Layer {
        module: "activity",
        why: "activity definitions are the same whatever stores them",
        remedy: "keep the definition here and let `runtime` hand it to the provider",
        modules: &["provider"],
        ..NOTHING
    },
    Layer {
        module: "retry",
        why: "a retry policy is pure arithmetic",
        remedy: "take numbers as arguments and return one",
        modules: &["provider"],
        names: &["tokio"],
        ..NOTHING
    },
    Layer {
        module: "provider",
        why: "the contract names no backend",
        remedy: "say it in words that hold for every backend, or move it into that backend's crate",
        backends_allowed: false,
        ..NOTHING
    },
];

/// The rules of each layer.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let exported = root_exports(tree);
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(below) = file.path.strip_prefix(SOURCE) else { continue };
        let module = paths::module_of(below);
        let Some(layer) =
            LAYERS.iter().find(|layer| module.first().is_some_and(|first| first == layer.module))
        else {
            continue;
        };
        let Some(tokens) = file.tokens() else { continue };
        for path in paths::named(tokens, &module) {
            findings
                .extend(broken(layer, &path, &exported).map(|what| report(layer, file, path.line, &what)));
        }
    }
    findings
}

fn report(layer: &Layer, file: &Source, line: usize, what: &str) -> Finding {
    Finding::new(&file.path, line, format!("`{}` names {what}", layer.module), layer.why, layer.remedy)
}

/// What a path breaks, if anything.
fn broken(layer: &Layer, path: &NamedPath, exported: &BTreeMap<String, String>) -> Option<String> {
    let shown = format!("`{}`", path.segments.join("::"));
    if let [root, second, ..] = path.segments.as_slice()
        && root == "crate"
    {
        let home = exported.get(second).unwrap_or(second);
        let hidden = second == "*" && !layer.modules.is_empty();
        if hidden || layer.modules.contains(&home.as_str()) {
            return Some(shown);
        }
    }
    let banned = |name: &String| {
        layer.names.contains(&name.as_str())
            || layer.endings.iter().any(|ending| name.ends_with(ending))
            || !layer.backends_allowed && BACKENDS.iter().any(|backend| name.to_lowercase().contains(backend))
    };
    let last = path.segments.last().map(String::as_str).unwrap_or_default();
    let calls = path.called && !path.defined && layer.calls.contains(&last);
    (calls || path.segments.iter().any(banned)).then_some(shown)
}

/// Where the names live that `lib.rs` re-exports: without this, `crate::Client` would hide `crate::client`.
fn root_exports(tree: &Tree) -> BTreeMap<String, String> {
    let Some(tokens) = tree.find(&format!("{SOURCE}lib.rs")).and_then(Source::tokens) else {
        return BTreeMap::new();
    };
    let named = paths::named(tokens, &[]);
    let homes = named.into_iter().filter_map(|path| {
        let own: &[String] = match path.segments.split_first() {
            Some((root, rest)) if root == "crate" => rest,
            _ => &path.segments,
        };
        match own {
            [home, .., name] => Some((name.clone(), home.clone())),
            _ => None,
        }
    });
    homes.collect()
}

/// `durable-core` depends on no database, not even behind a feature or for its tests.
pub(crate) fn manifest(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.find(MANIFEST) else { return Vec::new() };
    let table: toml::Table = match toml::from_str(&file.text) {
        Ok(table) => table,
        Err(error) => {
            let what = format!("it is not valid TOML ({})", error.message());
            return vec![Finding::new(MANIFEST, 1, what, "cargo reads it too", "correct it")];
        }
    };
    let mut named = Vec::new();
    dependencies(&table, &mut named);
    named.retain(|name| DATABASE_CRATES.contains(&name.as_str()));
    let line_of =
        |name: &str| file.text.lines().position(|line| line.contains(name)).map_or(1, |index| index + 1);
    named.iter().map(|name| database_finding(line_of(name), name)).collect()
}

fn database_finding(line: usize, name: &str) -> Finding {
    Finding::new(
        MANIFEST,
        line,
        format!("`{name}` is a dependency of durable-core"),
        "the core knows no database",
        "move what needs it into a provider crate",
    )
}

/// Names in every table that lists dependencies, renamed ones by the package that they mean.
fn dependencies(table: &toml::Table, named: &mut Vec<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            for (name, detail) in inner {
                let package = detail.get("package").and_then(toml::Value::as_str);
                named.push(package.unwrap_or(name).to_owned());
            }
        } else {
            dependencies(inner, named);
        }
    }
}

/// What cargo says that `durable-core` links, in any depth.
pub(crate) fn dependency_tree(tree: &Tree) -> Result<Vec<Finding>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&tree.root).args([
        "tree",
        "--locked",
        "-p",
        "durable-core",
        "-e",
        "normal",
        "--prefix",
        "none",
    ]);
    let output = command.output().context("cargo does not start")?;
    ensure!(output.status.success(), "`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(databases_in(&String::from_utf8_lossy(&output.stdout)))
}

fn databases_in(listing: &str) -> Vec<Finding> {
    let names = listing.lines().filter_map(|line| line.split_whitespace().next());
    let mut databases: Vec<&str> = names.filter(|name| DATABASE_CRATES.contains(name)).collect();
    databases.sort_unstable();
    databases.dedup();
    databases.into_iter().map(|name| database_finding(1, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    const ENGINE: &str = "durable-core/src/engine/replay.rs";

    #[test]
    fn the_engine_may_name_no_runtime_clock_randomness_or_async() {
        for code in [
            "use tokio::sync::Notify;",
            "\n\nfn f() -> u8 { tokio::spawn(1) }",
            "use std::time::{Duration, Instant};",
            "use std::time; fn f(a: time::SystemTime) {}",
            "fn f(clock: &dyn Clock) {}",
            "fn f() { Uuid::now_v7(); }",
            "fn f() { Uuid::new_v4(); }",
            "fn f() { RunId::fresh(); }",
            "async fn f() {}",
            "fn f() { let _ = async { 1 }; }",
            "fn f() { debug!(g().await) }",
        ] {
            one(check, &[(ENGINE, code)], ENGINE, "`engine` names");
        }
    }

    #[test]
    fn the_engine_may_name_no_module_above_it_in_any_spelling() {
        for code in [
            "use crate::runtime::Worker;",
            "use crate::{history::Event, client};",
            "use super::super::workflow::Context;",
            "fn f(a: durable_core::activity::Options) {}",
            "mod tests { use super::super::super::provider::Claim; }",
            "use crate::*;",
        ] {
            one(check, &[(ENGINE, code)], &format!("{ENGINE}:1:"), "the engine is pure");
        }
    }

    #[test]
    fn a_re_export_at_the_root_hides_no_layer() {
        let exports = ("durable-core/src/lib.rs", "mod runtime; pub use runtime::worker::Worker;");
        one(check, &[exports, (ENGINE, "use crate::Worker;")], ENGINE, "`crate::Worker`");
    }

    #[test]
    fn the_line_is_that_of_the_name() {
        one(
            check,
            &[(ENGINE, "//! x\n\nfn f() {\n    tokio::spawn(1);\n}\n")],
            &format!("{ENGINE}:4:"),
            "`tokio::spawn`",
        );
    }

    #[test]
    fn other_layers_have_their_own_bans() {
        for (path, code) in [
            ("durable-core/src/workflow/timer.rs", "use tokio::time::sleep;"),
            ("durable-core/src/workflow.rs", "use crate::provider::Claim;"),
            ("durable-core/src/activity/mod.rs", "use crate::provider;"),
            ("durable-core/src/retry.rs", "use crate::provider::Row;"),
            ("durable-core/src/provider/error.rs", "fn from_sqlite() {}"),
            ("durable-core/src/provider/mod.rs", "struct PostgresPool;"),
            ("durable-core/src/provider/mod.rs", "use sqlx::Row;"),
        ] {
            one(check, &[(path, code)], path, "names");
        }
    }

    #[test]
    fn prose_strings_and_definitions_are_no_violation() {
        let code = "//! No tokio, no Clock.\n/// crate::runtime calls `fresh()`.\n// async, .await\n\
                    use crate::history::Event;\nfn fresh(a: &str) -> &str { \"tokio::spawn(crate::client).await\" }";
        assert_eq!(
            found(check, &[(ENGINE, code), ("durable-core/src/runtime/mod.rs", "use tokio::spawn;")]),
            [""; 0]
        );
    }

    #[test]
    fn a_database_in_the_manifest_is_found_behind_targets_and_new_names() {
        for text in [
            "[package]\nname = \"x\"\n[dependencies]\nsqlx = \"1\"",
            "[dev-dependencies]\ndb = { package = \"rusqlite\", version = \"1\" }",
            "[target.'cfg(unix)'.dependencies]\nlibsqlite3-sys = \"1\"",
        ] {
            one(manifest, &[(MANIFEST, text)], MANIFEST, "the core knows no database");
        }
        assert!(found(manifest, &[(MANIFEST, "[dependencies]\ntokio = \"1\" # no sqlx")]).is_empty());
        assert_eq!(found(manifest, &[(MANIFEST, "[dependencies")]).len(), 1);
    }

    #[test]
    fn a_database_deep_in_the_dependency_tree_is_found_once() {
        let listing =
            "durable-core v0.1.0 (x)\nserde v1.0.0\nlibsqlite3-sys v0.37.0\nlibsqlite3-sys v0.37.0 (*)\n";
        let findings = databases_in(listing);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().contains("`libsqlite3-sys`"));
    }
}
