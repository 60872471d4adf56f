//! How long the documents and the compiler texts that users read may be.

use super::Finding;
use super::tree::{Source, Tree};

/// README, ARCHITECTURE and the expected compiler messages.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter_map(too_long).collect()
}

fn too_long(file: &Source) -> Option<Finding> {
    let (limit, why, remedy) = match file.path.as_str() {
        "README.md" => {
            (200, "it is read by people who decide in a minute", "move a part to `docs/` and link to it")
        }
        "ARCHITECTURE.md" => {
            (300, "it is the map, not the land", "move detail into the module's own documentation")
        }
        _ if file.has_extension("stderr") && file.path.contains("tests/ui/") => (
            20,
            "a user reads the first screen of an error",
            "make the macro stop at the first cause, or mark impls `#[diagnostic::do_not_recommend]`",
        ),
        _ => return None,
    };
    let lines = file.text.lines().count();
    (lines > limit).then(|| {
        Finding::new(&file.path, limit + 1, format!("{lines} lines, {limit} are allowed"), why, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::planted::{found, one};

    #[test]
    fn each_document_has_its_limit() {
        for (path, limit) in
            [("README.md", 200), ("ARCHITECTURE.md", 300), ("tests/ui/fail/awaits/a.stderr", 20)]
        {
            one(check, &[(path, &"x\n".repeat(limit + 1))], &format!("{path}:{}:", limit + 1), "are allowed");
            assert_eq!(found(check, &[(path, &"x\n".repeat(limit))]), [""; 0]);
        }
    }
}
