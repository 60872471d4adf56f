//! A change that would break runs under way is found before its deploy, and made safe.

use crate::command::{report, upgrade};

#[test]
fn a_breaking_version_is_reported_with_the_place_a_safe_one_passes_and_runs_of_both_ages_finish() {
    let text = report(&upgrade().output().unwrap());
    let stages: Vec<&str> = text.split("version ").collect();
    let [_, running, written, safe, both] = stages[..] else { panic!("{text}") };
    assert_eq!(running.matches("charged 1999").count(), 2, "{text}");
    for order in ["order-1", "order-2"] {
        let at = written.find(&format!("{order} (`order`, run ")).unwrap_or_else(|| panic!("{text}"));
        let said = &written[at..];
        assert!(
            said.contains(
                "recorded  event 4: ActivityTaskScheduled activity `charge` (id 1, key `charge#1`)"
            ),
            "{text}"
        );
        assert!(said.contains("asked     activity `ship` (id 1, key `ship#1`)"), "{text}");
        assert!(said.contains("--> examples/upgrade.rs:"), "the exact place: {text}");
        assert!(said.contains("if ctx.version("), "what makes it safe: {text}");
    }
    assert!(
        written.contains("2 open runs: 0 fit, 2 would be blocked, 0 of an unknown type, 0 unreadable"),
        "{text}"
    );
    assert!(safe.contains("2 open runs: 2 fit, 0 would be blocked"), "{text}");
    assert!(!both.contains("charged 1999"), "an order under way is not charged again: {text}");
    assert_eq!(both.matches("charged 2999").count(), 1, "{text}");
    let new = both.split_once("shipped order-3").expect("the new order is shipped").1;
    assert!(new.contains("charged 2999 for order-3"), "and charged afterwards: {text}");
    for order in ["order-1", "order-2", "order-3"] {
        assert_eq!(both.matches(&format!("parcel of {order}")).count(), 1, "{text}");
    }
}
