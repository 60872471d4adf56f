//! Replay: what a run recorded, the same code does again; other code is told so.

use std::cell::Cell;
use std::time::Duration;

use durable::history::{ActivityOptions, Event, EventKind, Placement};
use durable::id::{CommandId, CommandKey, EventId};
use durable::prelude::*;
use durable_core::payload::encode;

use crate::harness::{Run, build, commands, done, failed, fired, load, second, started};

#[activity]
async fn upper(_ctx: &ActivityContext, text: String) -> Result<String, String> {
    Ok(text.to_uppercase())
}

#[activity]
async fn lower(_ctx: &ActivityContext, text: String) -> Result<String, String> {
    Ok(text.to_lowercase())
}

#[workflow(name = "sequence")]
async fn sequence(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
    let mut all = Vec::new();
    for n in 1..=count {
        all.push(upper(ctx, format!("s{n}")).await?);
    }
    Ok(all)
}

fn event(id: u64, kind: EventKind) -> Event {
    Event { id: EventId(id), at: second(i64::try_from(id).unwrap()), kind }
}

fn scheduled(id: u64, text: &str) -> EventKind {
    EventKind::ActivityTaskScheduled {
        id: CommandId(id),
        key: CommandKey(format!("upper#{id}")),
        activity_type: "upper".to_owned(),
        input: encode("input", &serde_json::json!({ "text": text })).unwrap(),
        input_hash: 0,
        placement: Placement::Queued,
        options: ActivityOptions::default(),
        location: "seed".to_owned(),
    }
}

/// The hand example of the replay seed (section 3), event by event, with the kinds that we do not write.
fn hand_example() -> Vec<Event> {
    let task_started = || EventKind::WorkflowTaskStarted { events: 0, bytes: 0, suggests_continue: false };
    let completed = |id| EventKind::WorkflowTaskCompleted { started: EventId(id), build: build() };
    let kinds = vec![
        started::<sequence>(&2).kind,
        EventKind::WorkflowTaskScheduled {},
        task_started(),
        completed(3),
        scheduled(1, "s1"),
        EventKind::ActivityTaskStarted { id: CommandId(1), attempt: 1 },
        done(1, "S1"),
        EventKind::WorkflowTaskScheduled {},
        task_started(),
        completed(9),
        scheduled(2, "s2"),
        EventKind::ActivityTaskStarted { id: CommandId(2), attempt: 1 },
        done(2, "S2"),
        EventKind::WorkflowTaskScheduled {},
        task_started(),
    ];
    (1..).zip(kinds).map(|(id, kind)| event(id, kind)).collect()
}

#[test]
fn the_hand_example_issues_1_then_2_then_completes() {
    for (end, expected) in
        [(3, "activity 1 upper#1"), (9, "activity 2 upper#2"), (15, r#"completed ["S1","S2"]"#)]
    {
        let mut run = load::<sequence>(&hand_example()[..end]).unwrap();
        let output = run.turn(Vec::new(), second(99), &build()).unwrap();
        assert_eq!(commands(&output), [expected], "history up to event {end}");
    }
}

fn recorded_sequence() -> Vec<Event> {
    let mut run = Run::<sequence>::new(&2);
    assert_eq!(commands(&run.turn([])), ["activity 1 upper#1"]);
    assert_eq!(commands(&run.turn([done(1, "S1")])), ["activity 2 upper#2"]);
    assert_eq!(commands(&run.turn([done(2, "S2")])), [r#"completed ["S1","S2"]"#]);
    run.history
}

mod edited {
    use super::*;

    #[workflow(name = "sequence")]
    pub(super) async fn other_type(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
        let mut all = Vec::new();
        for n in 1..=count {
            all.push(lower(ctx, format!("s{n}")).await?);
        }
        Ok(all)
    }

    #[workflow(name = "sequence")]
    pub(super) async fn fewer(ctx: &WorkflowContext, _count: u32) -> Result<Vec<String>, WorkflowError> {
        Ok(vec![upper(ctx, "s1".to_owned()).await?])
    }

    #[workflow(name = "sequence")]
    pub(super) async fn extra(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
        let mut all = Vec::new();
        for n in 1..=count {
            ctx.spawn(lower(ctx, "more".to_owned())).detach();
            all.push(upper(ctx, format!("s{n}")).await?);
        }
        Ok(all)
    }

    #[workflow(name = "sequence")]
    pub(super) async fn trailing(ctx: &WorkflowContext, count: u32) -> Result<Vec<String>, WorkflowError> {
        let mut all = Vec::new();
        for n in 1..=count {
            let call = ctx.spawn(upper(ctx, format!("s{n}")));
            ctx.spawn(lower(ctx, "more".to_owned())).detach();
            all.push(call.await?);
        }
        Ok(all)
    }

    #[workflow(name = "sequence")]
    pub(super) async fn nothing(_ctx: &WorkflowContext, _count: u32) -> Result<Vec<String>, WorkflowError> {
        Ok(Vec::new())
    }

    pub(super) fn check<W: Workflow>(history: &[Event], field: &str) {
        let first = load::<W>(history).unwrap_err().reason;
        assert!(first.starts_with("nondeterminism: workflow `sequence`"), "{first}");
        assert!(first.contains(field), "expected {field:?} in:\n{first}");
        assert!(first.contains("recorded") && first.contains("asked") && first.contains("help"), "{first}");
        for _ in 0..2 {
            assert_eq!(load::<W>(history).unwrap_err().reason, first, "the same error every time");
        }
    }
}

#[test]
fn another_type_fewer_more_or_reordered_commands_are_nondeterminism() {
    let closed = recorded_sequence();
    for history in [&closed[..], &closed[..4]] {
        edited::check::<edited::other_type>(history, "the activity type differs");
        edited::check::<edited::extra>(history, "the activity type differs");
        edited::check::<edited::trailing>(history, "a command that history does not have");
        edited::check::<edited::nothing>(history, "the kind differs");
    }
    edited::check::<edited::fewer>(&closed, "the kind differs");
}

#[workflow]
async fn pair(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    let (a, b) = durable::join!(upper(ctx, "a".to_owned()), upper(ctx, "b".to_owned()));
    a.and(b)?;
    Ok(())
}

#[test]
fn a_recorded_command_that_the_code_no_longer_asks_for_is_nondeterminism() {
    let mut run = Run::<pair>::new(&());
    run.turn([]);
    // Keys differ between a join and a plain call: the join's own is kept by joining one.
    #[workflow(name = "pair")]
    async fn one_of_two(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
        let (a,) = durable::join!(upper(ctx, "a".to_owned()));
        a?;
        Ok(())
    }
    let error = load::<one_of_two>(&run.history).unwrap_err().reason;
    assert!(error.contains("no longer asks for a recorded command"), "{error}");
    assert!(error.contains("event 5") && error.contains("join#1.1/upper#1"), "{error}");
}

#[test]
fn a_live_run_whose_code_changed_is_nondeterminism_and_keeps_its_inputs() {
    let mut open = recorded_sequence();
    open.truncate(4);
    open.push(event(5, done(1, "S1")));
    let error = load::<edited::other_type>(&open).unwrap_err();
    assert!(error.reason.starts_with("nondeterminism"), "{error}");
    // The code that recorded it goes on from the input that was kept.
    let mut run = load::<sequence>(&open).unwrap();
    assert!(run.has_tail());
    let output = run.turn(Vec::new(), second(50), &build()).unwrap();
    assert_eq!(commands(&output), ["activity 2 upper#2"]);
}

thread_local! {
    static SWAP: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

#[workflow]
async fn two(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    if SWAP.get() {
        let (b, a) = durable::join!(lower(ctx, "b".to_owned()), upper(ctx, "a".to_owned()));
        a.and(b)?;
    } else {
        let (a, b) = durable::join!(upper(ctx, "a".to_owned()), lower(ctx, "b".to_owned()));
        a.and(b)?;
    }
    Ok(())
}

#[test]
fn a_failpoint_that_swaps_two_commands_is_caught() {
    let mut run = Run::<two>::new(&());
    run.turn([]);
    run.turn([done(2, "b"), done(1, "A")]);
    SWAP.set(true);
    let first = load::<two>(&run.history).unwrap_err().reason;
    assert!(first.contains("the activity type differs"), "{first}");
    for _ in 0..2 {
        assert_eq!(load::<two>(&run.history).unwrap_err().reason, first);
    }
    SWAP.set(false);
    load::<two>(&run.history).unwrap();
}

#[workflow]
async fn effects(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let first = ctx.side_effect("draw", || {
        CALLS.set(CALLS.get() + 1);
        CALLS.get()
    })?;
    upper(ctx, "x".to_owned()).await?;
    Ok(first)
}

#[test]
fn a_side_effect_runs_once_and_never_on_replay() {
    CALLS.set(6);
    let mut run = Run::<effects>::new(&());
    assert_eq!(commands(&run.turn([])), ["marker", "activity 1 upper#1"]);
    assert_eq!(CALLS.get(), 7);
    assert_eq!(commands(&run.turn([done(1, "X")])), ["completed 7"]);
    assert_eq!(CALLS.get(), 7, "replay called the closure");
}

#[workflow]
async fn clock(ctx: &WorkflowContext) -> Result<(i64, i64, bool), WorkflowError> {
    let before = ctx.now();
    let frozen = before == ctx.now();
    ctx.sleep(Duration::from_hours(1)).await?;
    Ok((before.as_micros(), ctx.now().as_micros(), frozen))
}

#[test]
fn now_is_the_recorded_time_of_the_turn_frozen_and_never_backwards() {
    let mut run = Run::<clock>::evicted_each_turn(&());
    run.at(10).turn([]);
    let late = run.at(10 + 3600).turn([fired(1)]);
    let expected = format!("completed [{},{},true]", second(10).as_micros(), second(3610).as_micros());
    assert_eq!(commands(&late), [expected]);

    let mut run = Run::<clock>::new(&());
    run.at(10).turn([]);
    let back = run.at(5).turn([fired(1)]);
    let expected = format!("completed [{0},{0},true]", second(10).as_micros());
    assert_eq!(commands(&back), [expected], "a clock that went back was believed");
}

#[workflow]
async fn order(ctx: &WorkflowContext) -> Result<Vec<u32>, WorkflowError> {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let wait = |n: u32| {
        let (ctx, seen) = (ctx.clone(), seen.clone());
        async move {
            let _ = upper(&ctx, n.to_string()).await;
            seen.borrow_mut().push(n);
        }
    };
    durable::join_all([wait(1), wait(2), wait(3)]).await;
    let order = seen.borrow().clone();
    Ok(order)
}

#[test]
fn results_of_one_batch_resolve_in_history_order() {
    for batch in [[1, 2, 3], [3, 1, 2], [2, 3, 1]] {
        let mut run = Run::<order>::new(&());
        run.turn([]);
        let output = run.turn(batch.map(|id| done(id, "x")));
        let [a, b, c] = batch;
        assert_eq!(commands(&output), [format!("completed [{a},{b},{c}]")]);
    }
}

#[test]
fn a_command_stores_the_keyed_hash_of_its_input_and_a_replayed_run_goes_on_storing_it() {
    let mut run = Run::<sequence>::evicted_each_turn(&2);
    run.turn([]);
    run.turn([done(1, "S1")]);
    let mut seen = 0;
    for event in &run.history {
        if let EventKind::ActivityTaskScheduled { input, input_hash, .. } = &event.kind {
            let key = durable::id::IdSeed(uuid::Uuid::from_u128(42));
            assert_eq!(*input_hash, durable_core::payload::keyed_hash(key, input));
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

#[test]
fn evicting_a_run_at_any_moment_changes_nothing() {
    let mut cached = Run::<sequence>::new(&5);
    let mut evicted = Run::<sequence>::evicted_each_turn(&5);
    for turn in 0..=5 {
        let input = if turn == 0 { vec![] } else { vec![done(turn, format!("S{turn}"))] };
        assert_eq!(cached.turn(input.clone()), evicted.turn(input));
    }
    assert_eq!(cached.history, evicted.history);
    assert!(cached.live().is_closed());
}

#[test]
fn a_history_cut_at_any_task_boundary_replays_and_goes_on_alike() {
    let whole = recorded_sequence();
    let cuts: Vec<_> = (1..=whole.len())
        .filter(|&cut| {
            whole.get(cut).is_none_or(|next| !next.kind.is_command())
                && !matches!(whole[cut - 1].kind, EventKind::WorkflowTaskStarted { .. })
                && !matches!(whole[cut - 1].kind, EventKind::WorkflowTaskCompleted { .. })
        })
        .collect();
    assert!(cuts.len() >= 5, "too few boundaries tried: {cuts:?}");
    for cut in cuts {
        let mut run = Run::<sequence>::resume(whole[..cut].to_vec());
        let mut delivered =
            whole[..cut].iter().filter(|e| matches!(e.kind, EventKind::ActivityTaskCompleted { .. })).count()
                as u64;
        while !run.live().is_closed() {
            if run.live().has_tail() {
                let mut tail = load::<sequence>(&run.history).unwrap();
                let output = tail.turn(Vec::new(), second(2_000), &build()).unwrap();
                run.history.extend(output.events);
                run = Run::resume(run.history);
            } else {
                delivered += 1;
                run.turn([done(delivered, format!("S{delivered}"))]);
            }
        }
        let end = run.history.last().unwrap();
        assert!(
            matches!(&end.kind, EventKind::WorkflowExecutionCompleted { result, .. } if &result.bytes[..] == br#"["S1","S2"]"#)
        );
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
enum CardError {
    #[error("card {0} was refused")]
    Refused(String),
}

#[activity]
async fn charge(_ctx: &ActivityContext, card: String) -> Result<u64, CardError> {
    Err(CardError::Refused(card))
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
enum ShopError {
    #[error("{0}")]
    Charge(#[from] ActivityError<CardError>),
}

#[workflow]
async fn shop(ctx: &WorkflowContext) -> Result<u64, ShopError> {
    match charge(ctx, "4711".to_owned()).await {
        Err(error) if error.error() == Some(&CardError::Refused("4711".to_owned())) => {
            assert_eq!(error.causes, ["the bank said no"]);
            Err(error.into())
        }
        other => Ok(other?),
    }
}

#[test]
fn typed_errors_come_back_equal_and_are_never_called_nondeterminism() {
    let mut run = Run::<shop>::evicted_each_turn(&());
    run.turn([]);
    let error = CardError::Refused("4711".to_owned());
    let output = run.turn([failed(1, &error, &error.to_string(), &["the bank said no"])]);
    assert_eq!(commands(&output), ["failed activity `charge` failed: card 4711 was refused"]);
    let EventKind::WorkflowExecutionFailed { failure } = output.closed.unwrap() else { unreachable!() };
    let revived: ShopError = durable_core::payload::decode("error", &failure.error.unwrap()).unwrap();
    let ShopError::Charge(revived) = revived;
    assert_eq!(revived.error(), Some(&error));
    assert_eq!(revived.causes, ["the bank said no"]);
}

#[workflow]
async fn both_then_now(ctx: &WorkflowContext, not_before: i64) -> Result<i64, WorkflowError> {
    let (one, two) = durable::join!(upper(ctx, "s1".to_owned()), lower(ctx, "S2".to_owned()));
    assert_eq!((one?, two?), ("S1".to_owned(), "s2".to_owned()));
    if ctx.now().as_micros() < not_before {
        upper(ctx, "the time of another start".to_owned()).await?;
    }
    Ok(ctx.now().as_micros())
}

#[test]
fn a_task_that_was_started_twice_has_the_inputs_and_the_time_of_the_start_that_it_completed() {
    // Six events are there after the first turn; the start that counts is event 10.
    let mut run = Run::<both_then_now>::new(&second(9).as_micros());
    run.turn([]);
    let mut history = run.history;
    let (place, next) = (history.len(), history.len() as u64 + 1);
    let task = |events| EventKind::WorkflowTaskStarted { events, bytes: 0, suggests_continue: false };
    let end = EventKind::WorkflowExecutionCompleted {
        result: encode("a result", &second(9).as_micros()).unwrap(),
        result_hash: 0,
    };
    let kinds = [
        done(1, "S1"),
        // A worker that died.
        task(next + 1),
        done(2, "s2"),
        task(next + 3),
        EventKind::WorkflowTaskCompleted { started: EventId(next + 3), build: build() },
        end,
    ];
    history.extend((next..).zip(kinds).map(|(id, kind)| event(id, kind)));
    assert!(load::<both_then_now>(&history).unwrap().is_closed());
    // The one that died is no answer to what the other completed.
    let EventKind::WorkflowTaskCompleted { started, .. } = &mut history[place + 4].kind else { panic!() };
    *started = EventId(next + 1);
    assert!(load::<both_then_now>(&history).is_err());
}
