//! Continue-as-new: a run ends, the next one begins with its arguments, and histories stay short.

use std::time::Duration;

use durable::history::{Event, EventKind, StartOptions};
use durable::id::{EventId, QueueName, RunId};
use durable::limits::HistoryLimits;
use durable::prelude::*;
use durable_core::workflow::{LiveRun, NextRun, RunIdentity, entry_of};

use crate::harness::{Run, build, cancel, commands, done, fired, identity, load, second, started};

#[activity]
async fn count(_ctx: &ActivityContext, n: u64) -> Result<u64, String> {
    Ok(n + 1)
}

#[workflow]
async fn counter(ctx: &WorkflowContext, mut n: u64, until: u64) -> Result<u64, WorkflowError> {
    n = count(ctx, n).await?;
    if n < until {
        return ctx.continue_as_new::<counter>((n, until)).await;
    }
    Ok(n)
}

fn next_of(output: &durable_core::workflow::TurnOutput) -> NextRun {
    *output.next_run.clone().expect("the run continues")
}

/// Loads the run in which another one continues.
fn go_on<W: Workflow>(next: &NextRun) -> LiveRun {
    let identity = RunIdentity { run_id: next.run_id, ..identity() };
    LiveRun::load(Some(&entry_of::<W>()), identity, next.events.clone(), HistoryLimits::default()).unwrap()
}

#[test]
fn a_run_that_continues_ends_and_the_next_begins_with_its_arguments() {
    let mut run = Run::<counter>::evicted_each_turn(&(0, 2));
    run.turn([]);
    let output = run.turn([done(1, 1)]);
    assert_eq!(commands(&output), [r#"continued with {"n":1,"until":2}"#]);
    assert!(run.live().is_closed());
    let next = next_of(&output);
    assert_ne!(next.run_id, identity().run_id);
    let Some(EventKind::WorkflowExecutionContinuedAsNew { new_run_id, .. }) = output.closed else { panic!() };
    assert_eq!(new_run_id, next.run_id);
    let EventKind::WorkflowExecutionStarted {
        workflow_type,
        run_number,
        seed,
        input,
        continued_from,
        options,
        ..
    } = &next.events[0].kind
    else {
        panic!("{:?}", next.events)
    };
    assert_eq!((workflow_type.as_str(), *run_number, *seed), ("counter", 2, next.seed));
    assert_eq!(&input.bytes[..], br#"{"n":1,"until":2}"#);
    assert_eq!((*continued_from, options), (Some(identity().run_id), &StartOptions::default()));
    let mut second_run = go_on::<counter>(&next);
    second_run.turn(vec![], second(10), &build()).unwrap();
    let last = second_run.turn(vec![done(1, 2)], second(11), &build()).unwrap();
    assert_eq!(commands(&last), ["completed 2"]);
    assert!(last.next_run.is_none());
}

#[test]
fn the_next_run_has_a_seed_of_its_own_and_keeps_queue_and_options() {
    let options = StartOptions { queue: QueueName::new("slow").unwrap(), priority: 2 };
    let mut first = started::<counter>(&(0, 9));
    let EventKind::WorkflowExecutionStarted { options: stored, seed, .. } = &mut first.kind else { panic!() };
    *stored = options.clone();
    let seed = *seed;
    let mut run = Run::<counter>::resume(vec![first]);
    run.turn([]);
    let next = next_of(&run.turn([done(1, 1)]));
    let EventKind::WorkflowExecutionStarted { options: kept, .. } = &next.events[0].kind else { panic!() };
    assert_eq!(*kept, options);
    assert_ne!(next.seed, seed);
    let mut again = go_on::<counter>(&next);
    again.turn(vec![], second(20), &build()).unwrap();
    let third = next_of(&again.turn(vec![done(1, 2)], second(21), &build()).unwrap());
    assert_ne!(third.seed, next.seed);
    assert_ne!(third.run_id, next.run_id);
    let EventKind::WorkflowExecutionStarted { run_number, options: kept, .. } = &third.events[0].kind else {
        panic!()
    };
    assert_eq!((*run_number, kept), (3, &options));
}

#[test]
fn a_continued_run_replays_and_one_that_ends_otherwise_is_told_so() {
    let mut run = Run::<counter>::new(&(0, 2));
    run.turn([]);
    run.turn([done(1, 1)]);
    #[workflow(name = "counter")]
    async fn returns(ctx: &WorkflowContext, n: u64, until: u64) -> Result<u64, WorkflowError> {
        Ok(count(ctx, n).await? + until)
    }
    let reason = load::<returns>(&run.history).unwrap_err().reason;
    assert!(
        reason.contains("WorkflowExecutionContinuedAsNew the end of the run, to continue as new"),
        "{reason}"
    );
    assert!(reason.contains("asked     the end of the workflow with `Ok`"), "{reason}");
    let mut ended = Run::<returns>::new(&(0, 2));
    ended.turn([]);
    ended.turn([done(1, 1)]);
    assert!(load::<counter>(&ended.history).unwrap_err().reason.contains("the kind differs"));
}

#[test]
fn nothing_runs_and_nothing_is_recorded_after_the_end() {
    #[workflow]
    async fn busy(ctx: &WorkflowContext, n: u64) -> Result<u64, WorkflowError> {
        let own = ctx.clone();
        let beside = ctx.spawn(async move {
            count(&own, 7).await.ok();
            count(&own, 8).await.ok();
        });
        beside.detach();
        ctx.sleep(Duration::from_secs(1)).await?;
        let _abandoned = ctx.spawn(ctx.sleep(Duration::from_secs(9)));
        let end = ctx.continue_as_new::<busy>(n + 1);
        let result = end.await;
        ctx.side_effect("never", || ())?;
        result
    }
    let mut run = Run::<busy>::new(&0);
    run.turn([]);
    // The result of the task beside it comes in the same turn, after the end.
    let output = run.turn([fired(2), done(1, 8)]);
    let all = commands(&output);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[1].starts_with("continued with"), "{all:?}");
    assert!(output.scheduled.is_empty() && output.cancelled.is_empty());
}

#[test]
fn a_branch_beside_the_end_issues_nothing() {
    #[workflow]
    async fn torn(ctx: &WorkflowContext, n: u64) -> Result<u64, WorkflowError> {
        let (end, beside) = durable::join!(ctx.continue_as_new::<torn>(n + 1), async {
            ctx.side_effect("late", || 1).ok();
            count(ctx, 1).await
        });
        Ok(end? + beside?)
    }
    let mut run = Run::<torn>::new(&0);
    assert_eq!(commands(&run.turn([])), [r#"continued with {"n":1}"#]);
    #[workflow]
    async fn torn_later(ctx: &WorkflowContext, n: u64) -> Result<u64, WorkflowError> {
        let (end, beside) = durable::join!(ctx.continue_as_new::<torn_later>(n + 1), count(ctx, 1));
        Ok(end? + beside?)
    }
    let mut run = Run::<torn_later>::new(&0);
    let output = run.turn([]);
    assert_eq!(commands(&output), [r#"continued with {"n":1}"#]);
    assert!(output.scheduled.is_empty());
}

#[test]
fn a_task_that_is_woken_with_the_last_one_issues_nothing_after_the_end() {
    #[workflow]
    async fn race(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let (one, two) = (ctx.clone(), ctx.clone());
        let first = ctx.spawn(async move { count(&one, 1).await });
        let second = ctx.spawn(async move {
            let waited = two.sleep(Duration::from_secs(1)).await;
            two.side_effect("late", || 1).ok();
            waited
        });
        second.detach();
        Ok(first.await?)
    }
    struct Late(WorkflowContext);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.side_effect("in a destructor", || 1).ok();
        }
    }
    #[workflow]
    async fn untidy(ctx: &WorkflowContext) -> Result<u64, WorkflowError> {
        let (late, own) = (Late(ctx.clone()), ctx.clone());
        ctx.spawn(async move {
            let _late = late;
            own.sleep(Duration::from_secs(9)).await.ok();
        })
        .detach();
        Ok(count(ctx, 1).await?)
    }
    let mut run = Run::<race>::new(&());
    run.turn([]);
    assert_eq!(commands(&run.turn([done(1, 2), fired(2)])), ["completed 2"]);
    let mut run = Run::<untidy>::new(&());
    run.turn([]);
    assert_eq!(commands(&run.turn([done(2, 2)])), ["completed 2"]);
}

#[test]
fn a_request_to_cancel_holds_for_the_next_run() {
    #[workflow]
    async fn persistent(ctx: &WorkflowContext, n: u64) -> Result<u64, WorkflowError> {
        if ctx.sleep(Duration::from_mins(1)).await.is_err() && n > 1 {
            return Err(Cancelled.into());
        }
        ctx.continue_as_new::<persistent>(n + 1).await
    }
    let asked = |next: &NextRun| match &next.events[..] {
        [_, Event { kind: EventKind::WorkflowExecutionCancelRequested { reason }, .. }] => reason.clone(),
        other => panic!("{other:?}"),
    };
    let mut before = Run::<persistent>::new(&1);
    before.turn([]);
    let next = next_of(&before.turn([cancel()]));
    assert_eq!(asked(&next), "test");
    let mut last = go_on::<persistent>(&next);
    let output = last.turn(vec![], second(90), &build()).unwrap();
    assert_eq!(commands(&output)[..2], ["timer 1 sleep#1", "cancel timer 1"], "it begins, then it is asked");
    assert!(
        matches!(output.closed, Some(EventKind::WorkflowExecutionCanceled { .. })),
        "{:?}",
        output.closed
    );
    // Delivered in the turn that continues, after the end.
    let mut late = Run::<persistent>::new(&1);
    late.turn([]);
    assert_eq!(asked(&next_of(&late.turn([fired(1), cancel()]))), "test");
}

#[test]
fn a_long_history_suggests_to_continue_and_replay_answers_the_same() {
    #[workflow]
    async fn told(ctx: &WorkflowContext) -> Result<Vec<bool>, WorkflowError> {
        let mut seen = vec![ctx.continue_as_new_suggested()];
        for n in 0..4 {
            count(ctx, n).await?;
            seen.push(ctx.continue_as_new_suggested());
        }
        Ok(seen)
    }
    let by_events = HistoryLimits { suggest_events: 11, ..HistoryLimits::default() };
    let by_bytes = HistoryLimits { suggest_bytes: 1_500, ..HistoryLimits::default() };
    for (limits, expected) in [
        (by_events, "[false,false,false,true,true]"),
        (by_bytes, "[false,false,true,true,true]"),
        (HistoryLimits::default(), "[false,false,false,false,false]"),
    ] {
        let mut history = vec![started::<told>(&())];
        let entry = entry_of::<told>();
        for turn in 0..=4 {
            let input = if turn == 0 { vec![] } else { vec![done(turn, turn)] };
            // From memory with these limits; replay reads what was recorded, whatever limits there are now.
            let mut live = LiveRun::load(Some(&entry), identity(), history.clone(), limits).unwrap();
            let output = live.turn(input, second(i64::try_from(turn).unwrap()), &build()).unwrap();
            history.extend(output.events);
        }
        let Some(EventKind::WorkflowExecutionCompleted { result, .. }) =
            history.last().map(|last| &last.kind)
        else {
            panic!("{history:?}")
        };
        assert_eq!(&result.bytes[..], expected.as_bytes(), "{limits:?}");
        assert!(load::<told>(&history).unwrap().is_closed());
        let recorded: Vec<_> = history
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::WorkflowTaskStarted { events, bytes, .. } => {
                    Some((EventId(events), bytes, event.id))
                }
                _ => None,
            })
            .collect();
        assert!(recorded.iter().all(|(events, _, id)| events == id));
        assert!(recorded.windows(2).all(|pair| pair[0].1 < pair[1].1), "{recorded:?}");
        let stored = durable_core::history::encode_events(&history).unwrap();
        let real: usize = stored.iter().map(|row| row.bytes.len()).sum();
        let said = history.iter().map(|event| event.kind.approximate_bytes()).sum::<u64>();
        let real = u64::try_from(real).unwrap();
        assert!(said > real / 2 && said < real * 2, "{said} bytes said, {real} stored");
    }
}

#[test]
fn what_a_run_cannot_continue_with_blocks_it_and_says_why() {
    #[workflow]
    async fn other(ctx: &WorkflowContext, n: u64, until: u64) -> Result<u64, WorkflowError> {
        ctx.continue_as_new::<counter>((n, until)).await
    }
    #[workflow]
    async fn heavy(ctx: &WorkflowContext, size: usize) -> Result<u64, WorkflowError> {
        let load = "x".repeat(size);
        ctx.sleep(Duration::ZERO).await?;
        ctx.continue_as_new::<carried>(load).await
    }
    #[workflow(name = "heavy")]
    async fn carried(ctx: &WorkflowContext, load: String) -> Result<u64, WorkflowError> {
        let size = load.len();
        ctx.sleep(Duration::ZERO).await?;
        Ok(size as u64)
    }
    let mut run = Run::<other>::new(&(0, 1));
    let reason = run.try_turn(vec![]).unwrap_err().reason;
    assert!(reason.contains("workflow `other` continues as workflow `counter`"), "{reason}");
    for (size, fits) in [(2 * 1024 * 1024 - 11, true), (2 * 1024 * 1024 - 10, false)] {
        let mut run = Run::<heavy>::new(&size);
        run.turn([]);
        match run.try_turn(vec![fired(1)]) {
            Ok(output) => {
                assert!(fits, "{size}");
                assert_eq!(next_of(&output).events.len(), 1);
            }
            Err(failure) => {
                assert!(!fits, "{failure}");
                assert!(failure.reason.contains("cannot continue as new"), "{failure}");
                assert!(failure.reason.contains("2097152"), "names the limit: {failure}");
                assert_eq!(failure.inputs.len(), 1, "the fired timer is kept");
            }
        }
    }
}

#[test]
fn run_ids_are_ordered_by_time_and_differ_between_runs() {
    let mut ids = vec![RunId(identity().run_id.0)];
    let mut run = Run::<counter>::new(&(0, 99));
    run.turn([]);
    let mut next = next_of(&run.turn([done(1, 1)]));
    for time in 1..20 {
        ids.push(next.run_id);
        let mut live = go_on::<counter>(&next);
        live.turn(vec![], second(time * 10), &build()).unwrap();
        next = next_of(&live.turn(vec![done(1, 1)], second(time * 10 + 1), &build()).unwrap());
    }
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    assert!(ids.iter().skip(1).all(|id| id.0.get_version_num() == 7));
}
