//! Versions: code changes under runs that are under way, and runs of every age go on.

use std::time::Duration;

use durable::history::{Event, EventKind, Marker};
use durable::prelude::*;

use crate::harness::{Run, commands, done, fired, load};

#[activity]
async fn a(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(1)
}

#[activity]
async fn b(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(2)
}

/// The code before the change.
#[workflow(name = "notify")]
async fn before(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let first = a(ctx).await?;
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(first + a(ctx).await?)
}

/// Both paths; the place is asked three times, once in another turn.
#[workflow(name = "notify")]
async fn both(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let version = ctx.version("use-b", 0..=1);
    let first = if version == 0 { a(ctx).await? } else { b(ctx).await? };
    assert_eq!(ctx.version("use-b", 0..=1), version);
    ctx.sleep(Duration::from_secs(1)).await?;
    let last = if ctx.version("use-b", 0..=1) == 0 { a(ctx).await? } else { b(ctx).await? };
    Ok(first + last)
}

/// The old path is gone.
#[workflow(name = "notify")]
async fn only_new(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    ctx.version("use-b", 1..=1);
    let first = b(ctx).await?;
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(first + b(ctx).await?)
}

/// Two changes at one place, both about to go.
#[workflow(name = "notify")]
async fn deprecated(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    ctx.deprecate_version("use-b", 1);
    ctx.deprecate_version("say-it-twice", 3);
    let first = b(ctx).await?;
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(first + b(ctx).await?)
}

/// No call is left.
#[workflow(name = "notify")]
async fn after(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let first = b(ctx).await?;
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok(first + b(ctx).await?)
}

fn recorded<W: Workflow<Input = ()>>(value: u32) -> Vec<Event> {
    let mut run = Run::<W>::evicted_each_turn(&());
    run.turn([]);
    run.turn([done(1, value)]);
    run.turn([fired(2)]);
    run.turn([done(3, value)]);
    assert!(run.live().is_closed());
    run.history
}

fn versions(history: &[Event]) -> Vec<(&str, u32, bool)> {
    history
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MarkerRecorded { marker: Marker::Version { change_id, version, deprecated } } => {
                Some((change_id.as_str(), *version, *deprecated))
            }
            _ => None,
        })
        .collect()
}

fn blocked<W: Workflow>(history: &[Event]) -> String {
    let (first, again) = (load::<W>(history).unwrap_err(), load::<W>(history).unwrap_err());
    assert_eq!(first, again, "the same error every time");
    first.reason
}

#[test]
fn an_old_history_takes_the_old_path_and_a_new_run_records_the_new_one_once() {
    let old = recorded::<before>(1);
    assert!(load::<both>(&old).unwrap().is_closed(), "the old path fits");
    let new = recorded::<both>(2);
    assert_eq!(versions(&new), [("use-b", 1, false)], "three calls, one marker");
    assert!(load::<both>(&new).unwrap().is_closed());
    assert!(load::<only_new>(&new).unwrap().is_closed());
}

#[test]
fn a_run_under_way_at_the_deploy_goes_on_by_the_old_path_to_its_end() {
    for turns in 1..=3 {
        let mut run = Run::<before>::new(&());
        let inputs = [vec![], vec![done(1, 1)], vec![fired(2)]];
        for input in inputs.iter().take(turns) {
            run.turn(input.clone());
        }
        let mut deployed = Run::<both>::resume(run.history);
        for input in inputs.iter().skip(turns) {
            deployed.turn(input.clone());
        }
        let last = deployed.turn([done(3, 1)]);
        assert_eq!(commands(&last), ["completed 2"], "{turns} turns before the deploy");
        assert_eq!(versions(&deployed.history), [], "an old run records nothing");
    }
}

#[test]
fn a_call_that_a_run_passes_later_records_its_version_and_shifts_no_id() {
    #[workflow(name = "notify")]
    async fn late(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let first = a(ctx).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        let last = if ctx.version("last", 1..=2) == 1 { a(ctx).await? } else { b(ctx).await? };
        Ok(first + last)
    }
    let mut run = Run::<before>::new(&());
    run.turn([]);
    let mut deployed = Run::<late>::resume(run.history);
    assert_eq!(commands(&deployed.turn([done(1, 1)])), ["timer 2 sleep#1"]);
    assert_eq!(commands(&deployed.turn([fired(2)])), ["marker", "activity 3 b#1"], "ids go on");
    assert_eq!(versions(&deployed.history), [("last", 2, false)]);
}

#[test]
fn a_version_without_a_path_blocks_and_says_which() {
    let new = recorded::<both>(2);
    #[workflow(name = "notify")]
    async fn too_new(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        ctx.version("use-b", 2..=4);
        Ok(0)
    }
    let reason = blocked::<too_new>(&new);
    assert!(reason.contains("goes by version 1 of change `use-b`"), "{reason}");
    assert!(reason.contains("a path for versions 2 to 4 only"), "{reason}");
    let mut live = Run::<both>::new(&());
    live.turn([]);
    #[workflow(name = "notify")]
    async fn narrowed(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        ctx.version("use-b", 0..=1);
        b(ctx).await?;
        Ok(ctx.version("use-b", 0..=0))
    }
    let mut narrowed = Run::<narrowed>::resume(live.history);
    let failure = narrowed.try_turn(vec![done(1, 2)]).unwrap_err();
    assert!(failure.reason.contains("a path for version 0 only"), "{failure}");
    assert_eq!(failure.inputs.len(), 1, "finished work is kept");
}

#[test]
fn left_over_markers_are_skipped_if_deprecated_and_reported_otherwise() {
    let stages = recorded::<deprecated>(2);
    assert_eq!(versions(&stages), [("use-b", 1, true), ("say-it-twice", 3, true)]);
    assert!(load::<after>(&stages).unwrap().is_closed(), "two adjacent markers are skipped");
    assert!(load::<deprecated>(&stages).unwrap().is_closed());
    assert!(load::<only_new>(&stages).unwrap().is_closed(), "one is asked for, the other is skipped");
    assert!(load::<both>(&stages).unwrap().is_closed(), "the stage before can be deployed again");
    let kept = recorded::<both>(2);
    assert!(
        load::<deprecated>(&kept).unwrap().is_closed(),
        "the last stage reads what the stage before wrote"
    );
    let reason = blocked::<after>(&kept);
    assert!(reason.contains("no longer asks for a recorded command"), "{reason}");
    assert!(reason.contains("MarkerRecorded version 1 of change `use-b`"), "{reason}");
    assert!(reason.contains("ctx.deprecate_version(\"use-b\", 1)"), "{reason}");
}

#[test]
fn a_marker_is_found_by_its_change_wherever_the_call_stands_in_its_turn() {
    #[workflow(name = "moved")]
    async fn first(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        assert_eq!((ctx.version("x", 1..=2), ctx.version("y", 1..=3)), (2, 3));
        let (one, two) = durable::join!(a(ctx), b(ctx));
        Ok(one? + two?)
    }
    #[workflow(name = "moved")]
    async fn too_late(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        ctx.version("y", 1..=3);
        let (one, two) = durable::join!(a(ctx), b(ctx));
        ctx.version("x", 1..=2);
        Ok(one? + two?)
    }
    let mut run = Run::<first>::new(&());
    run.turn([]);
    let reason = blocked::<too_late>(&run.history);
    assert!(reason.contains("version 2 of change `x`"), "one that left its turn is reported: {reason}");
    #[workflow(name = "moved")]
    async fn swapped(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        assert_eq!(ctx.version("y", 1..=4), 3);
        assert_eq!(ctx.version("x", 1..=2), 2);
        let (one, two) = durable::join!(a(ctx), b(ctx));
        Ok(one? + two?)
    }
    assert!(load::<swapped>(&run.history).is_ok());
}

#[test]
fn a_call_in_one_branch_reorders_no_other() {
    #[workflow(name = "branches")]
    async fn plain(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let (one, two) = durable::join!(async { a(ctx).await }, async { b(ctx).await });
        Ok(one? + two?)
    }
    #[workflow(name = "branches")]
    async fn patched(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
        let (one, two) = durable::join!(
            async {
                match ctx.version("patch", 1..=2) {
                    1 => a(ctx).await,
                    _ => b(ctx).await,
                }
            },
            async { b(ctx).await }
        );
        Ok(one? + two?)
    }
    let mut old = Run::<plain>::new(&());
    old.turn([]);
    let mut old = Run::<patched>::resume(old.history);
    old.turn([done(2, 2)]);
    assert_eq!(commands(&old.turn([done(1, 1)])), ["completed 3"]);
    let mut new = Run::<patched>::evicted_each_turn(&());
    let ids = ["marker", "activity 1 join#1.0/block#1/b#1", "activity 2 join#1.1/block#1/b#1"];
    assert_eq!(commands(&new.turn([]))[0], ids[0]);
    let scheduled = new.history.iter().filter(|e| matches!(e.kind, EventKind::ActivityTaskScheduled { .. }));
    assert_eq!(scheduled.count(), 2);
}

#[test]
fn a_version_that_makes_no_sense_blocks_with_what_is_wrong() {
    #[workflow]
    async fn senseless(ctx: &WorkflowContext, change: String, from: u32) -> Result<u32, WorkflowError> {
        Ok(ctx.version(&change, from..=1))
    }
    for (change, from, says) in
        [("x", 2, "the range is empty"), ("", 0, "change id"), ("a\0b", 0, "change id")]
    {
        let mut run = Run::<senseless>::new(&(change.to_owned(), from));
        let failure = run.try_turn(vec![]).unwrap_err();
        assert!(failure.reason.contains(says), "{failure}");
        assert!(failure.reason.contains("fix the code"), "{failure}");
    }
}

#[test]
fn a_version_in_clean_up_after_a_cancel_request_works_as_before() {
    #[workflow]
    async fn cleans_up(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
        if let Err(cancelled) = ctx.sleep(Duration::from_secs(9)).await {
            assert_eq!(ctx.version("clean-up", 1..=2), 2);
            return Err(cancelled.into());
        }
        Ok(())
    }
    let mut run = Run::<cleans_up>::evicted_each_turn(&());
    run.turn([]);
    let output = run.turn([crate::harness::cancel()]);
    assert_eq!(commands(&output).len(), 3, "{:?}", commands(&output));
    assert_eq!(versions(&run.history), [("clean-up", 2, false)]);
}
