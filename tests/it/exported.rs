//! Exported runs: what is read, what is refused, and what `assert_replays!` demands.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use durable::prelude::*;
use durable::replay::{ExportError, RunExport};

#[workflow(name = "golden.sequence")]
async fn sequence(_ctx: &WorkflowContext, _count: u32) -> Result<Vec<String>, WorkflowError> {
    Ok(Vec::new())
}

fn golden() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories/v1/sequence.json");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn fields_of_a_later_release_are_ignored() {
    let text = golden();
    let known = RunExport::from_json(&text).unwrap();
    let newer = text
        .replacen("{\"durable_run\":1,", "{\"durable_run\":1,\"from_a_later_release\":{\"x\":[1]},", 1)
        .replace("\"kind\":{", "\"later\":null,\"kind\":{")
        .replace("{\"events\":", "{\"later\":7,\"events\":")
        .replace("\"start_to_close_us\":", "\"later\":\"y\",\"start_to_close_us\":");
    assert!(newer.matches("later").count() > 10);
    assert_eq!(RunExport::from_json(&newer).unwrap(), known);
}

#[test]
fn what_is_no_run_is_refused_with_the_event_at_which_reading_failed() {
    let text = golden();
    let refused = |text: &str| RunExport::from_json(text).unwrap_err();
    for (bad, says) in [
        (String::new(), "no exported run"),
        ("[1]".to_owned(), "no exported run"),
        (text[..text.len() / 2].to_owned(), "no exported run"),
        (text.replacen("\"durable_run\":1", "\"durable_run\":2", 1), "its form is 2, this build reads 1"),
        (text.replacen("\"workflow_id\":\"sequence\"", "\"workflow_id\":\"else\"", 1), "another workflow"),
    ] {
        let error = refused(&bad);
        assert!(matches!(error, ExportError::Form { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    for (find, replace, at) in [
        ("{\"id\":4,", "{\"id\":5,", 4),
        ("WorkflowTaskCompleted", "UnheardOf", 3),
        ("\"started\":2", "\"started\":\"two\"", 3),
        ("{\"id\":1,\"at\"", "{\"id\":1,\"when\"", 1),
    ] {
        let bad = text.replacen(find, replace, 1);
        assert_ne!(bad, text, "{find}");
        match refused(&bad) {
            ExportError::Event { at: found, .. } => assert_eq!(found.0, at, "{find}"),
            other => panic!("{find}: {other}"),
        }
    }
    let missing = RunExport::read("tests/histories/nowhere.json").unwrap_err();
    assert!(missing.to_string().contains("nowhere.json"), "{missing}");
}

#[test]
fn assert_replays_fails_for_a_misfit_for_an_unreadable_file_and_for_no_file() {
    let said = |test: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(test)).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let text = said(&|| durable::assert_replays!("tests/histories/v1/seq*.json", [sequence]));
    assert!(text.contains("sequence.json: would be blocked: nondeterminism"), "{text}");
    let text = said(&|| durable::assert_replays!("tests/histories/v1/c*.json", [sequence]));
    for file in ["canceled.json", "clock.json", "counter-1.json", "counter-2.json"] {
        assert!(text.contains(&format!("{file}: no workflow of its type is registered")), "{text}");
    }
    let text = said(&|| durable::assert_replays!("tests/it/main.rs", [sequence]));
    assert!(text.contains("main.rs: cannot be read"), "{text}");
    let text = said(&|| durable::assert_replays!("tests/histories/v1/nothing-*.json", [sequence]));
    assert!(text.contains("nothing would be tested"), "{text}");
}
