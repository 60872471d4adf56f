//! Failed workflow tasks: the reason, and nothing lost.

use durable::history::EventKind;
use durable::prelude::*;
use durable_core::workflow::LiveRun;

use crate::harness::{Run, build, commands, done, failed, identity, load, second, started};

#[activity]
async fn step(_ctx: &ActivityContext) -> Result<u32, String> {
    Ok(1)
}

thread_local! {
    static BROKEN: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

#[workflow]
async fn panics(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    let first = step(ctx).await?;
    assert!(!BROKEN.get(), "the second turn is broken");
    Ok(first)
}

#[test]
fn a_panic_fails_the_task_keeps_its_inputs_and_fixed_code_goes_on() {
    BROKEN.set(true);
    let mut run = Run::<panics>::new(&());
    run.turn([]);
    let failure = run.try_turn(vec![done(1, 5)]).unwrap_err();
    assert!(failure.reason.contains("workflow `panics` panicked: the second turn is broken"), "{failure}");
    assert_eq!(failure.inputs.len(), 1, "the finished work comes back to be kept");
    // The inputs are committed without commands; the same code fails again, fixed code goes on.
    let mut history = run.history.clone();
    history.extend(failure.inputs);
    let mut again = load::<panics>(&history).unwrap();
    let second_failure = again.turn(Vec::new(), second(60), &build()).unwrap_err();
    assert!(second_failure.inputs.is_empty(), "inputs that are kept already are not kept twice");
    BROKEN.set(false);
    let mut fixed = load::<panics>(&history).unwrap();
    assert_eq!(commands(&fixed.turn(Vec::new(), second(61), &build()).unwrap()), ["completed 5"]);
}

#[test]
fn an_unknown_workflow_type_fails_the_task_and_names_it() {
    let history = vec![started::<panics>(&())];
    let failure =
        LiveRun::load(None, identity(), history, durable::limits::HistoryLimits::default()).unwrap_err();
    assert!(failure.reason.contains("no workflow named `panics`"), "{failure}");
}

#[test]
fn a_result_of_another_type_fails_the_task_and_names_the_activity() {
    let mut run = Run::<panics>::new(&());
    run.turn([]);
    let failure = run.try_turn(vec![done(1, "text")]).unwrap_err();
    assert!(failure.reason.contains("the result of activity `step` (id 1) cannot be decoded"), "{failure}");
    assert!(!failure.reason.contains("nondeterminism"), "{failure}");
}

#[test]
fn arguments_of_another_type_fail_the_task_and_name_the_parameter() {
    #[workflow(name = "panics")]
    async fn takes_more(_ctx: &WorkflowContext, amount: u32) -> Result<u32, WorkflowError> {
        Ok(amount)
    }
    let mut run = load::<takes_more>(&[started::<panics>(&())]).unwrap();
    let failure = run.turn(Vec::new(), second(1), &build()).unwrap_err();
    assert!(failure.reason.contains("amount"), "{failure}");
}

#[test]
fn an_outcome_of_a_command_never_issued_is_corrupt_not_nondeterminism() {
    let mut run = Run::<panics>::new(&());
    run.turn([]);
    let failure = run.try_turn(vec![done(9, 1)]).unwrap_err();
    assert!(failure.reason.contains("it names command 9"), "{failure}");
}

#[workflow]
async fn stuck(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    step(ctx).await?;
    durable::__private::durable(std::future::pending::<()>()).await;
    Ok(())
}

#[test]
fn waiting_for_something_not_durable_fails_in_the_same_turn_and_names_the_last_command() {
    let mut run = Run::<stuck>::new(&());
    run.turn([]);
    let failure = run.try_turn(vec![done(1, 1)]).unwrap_err();
    assert!(
        failure.reason.contains("not durable") && failure.reason.contains("activity `step` (id 1"),
        "{failure}"
    );
}

#[workflow]
async fn uncaught(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(step(ctx).await?)
}

#[test]
fn an_application_error_ends_the_run_and_is_not_nondeterminism() {
    let mut run = Run::<uncaught>::evicted_each_turn(&());
    run.turn([]);
    let output = run.turn([failed(1, "no", "no", &[])]);
    assert_eq!(commands(&output), ["failed activity `step` failed: no"]);
    assert!(matches!(output.closed, Some(EventKind::WorkflowExecutionFailed { .. })));
}

#[workflow]
async fn endless(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    loop {
        step(ctx).await?;
    }
}

#[test]
fn a_history_over_its_limit_refuses_commands_and_keeps_the_outcome() {
    let entry = durable_core::workflow::entry_of::<endless>();
    let mut history = vec![started::<endless>(&())];
    let limits = durable::limits::HistoryLimits { max_events: 20, ..Default::default() };
    let mut live = LiveRun::load(Some(&entry), identity(), history.clone(), limits).unwrap();
    let failure = (1..100)
        .find_map(|id| {
            let inputs = if id == 1 { vec![] } else { vec![done(id - 1, 1)] };
            match live.turn(inputs, second(1), &build()) {
                Ok(output) => {
                    history.extend(output.events);
                    None
                }
                Err(failure) => Some(failure),
            }
        })
        .expect("the limit was never reached");
    assert!(
        failure.reason.contains("the limit is 20") && history.len() <= 20,
        "{failure}, {}",
        history.len()
    );
    assert_eq!(failure.inputs.len(), 1);
}

#[workflow]
async fn big(ctx: &WorkflowContext, size: u32) -> Result<bool, WorkflowError> {
    Ok(ctx.side_effect("big", || "x".repeat(size as usize)).is_ok())
}

#[test]
fn a_marker_over_two_mebibytes_is_refused_at_the_call() {
    // Two quotes belong to the encoded text.
    let limit = 2 * 1024 * 1024 - 2;
    for (size, ok) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
        let output = Run::<big>::new(&size).turn([]);
        assert_eq!(commands(&output).last().unwrap(), &format!("completed {ok}"), "{size}");
    }
}
