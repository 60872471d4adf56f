//! Wide and long runs: what they cost is counted, in polls and events, never timed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use durable::DurableFuture;
use durable::history::EventKind;
use durable::prelude::*;
use durable_core::limits::HistoryLimits;
use durable_core::workflow::{LiveRun, RunIdentity, entry_of};

use crate::harness::{Fixture, in_world};

thread_local! {
    /// Polls of members, by the workflow's argument. Turns run on the thread of the test.
    static POLLS: RefCell<BTreeMap<u32, u64>> = const { RefCell::new(BTreeMap::new()) };
}

fn polls(of: u32) -> u64 {
    POLLS.with_borrow(|polls| polls.get(&of).copied().unwrap_or(0))
}

/// Counts how often a future is polled.
struct Counted<F>(u32, Pin<Box<F>>);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        POLLS.with_borrow_mut(|polls| *polls.entry(self.0).or_default() += 1);
        self.1.as_mut().poll(cx)
    }
}

impl<F: DurableFuture> DurableFuture for Counted<F> {}

fn counted<F: IntoFuture>(of: u32, future: F) -> Counted<F::IntoFuture> {
    Counted(of, Box::pin(future.into_future()))
}

/// How often each number was worked on.
#[derive(Debug, Default, Clone)]
struct Seen(std::sync::Arc<Mutex<BTreeMap<u32, u32>>>);

#[activity]
async fn work(ctx: &ActivityContext, n: u32) -> Result<u32, String> {
    *ctx.state::<Seen>().0.lock().unwrap().entry(n).or_default() += 1;
    Ok(n)
}

#[workflow]
async fn wide(ctx: &WorkflowContext, width: u32) -> Result<u64, WorkflowError> {
    let mut total = 0;
    for done in durable::join_all((0..width).map(|n| counted(width, work(ctx, n)))).await {
        total += u64::from(done?);
    }
    Ok(total)
}

#[workflow]
async fn long(ctx: &WorkflowContext, steps: u32) -> Result<Vec<u64>, WorkflowError> {
    let mut marks = Vec::new();
    for n in 0..steps {
        if n == 100 || n + 100 == steps {
            marks.push(polls(steps));
        }
        counted(steps, work(ctx, n)).await?;
    }
    marks.push(polls(steps));
    Ok(marks)
}

#[test]
fn a_fan_out_of_any_width_runs_each_once_in_a_turn_written_whole_and_a_completion_costs_the_same() {
    for width in [1, 98, 99, 1_000, 10_000] {
        in_world(async |world| {
            let fixture = Fixture::new(&world).await;
            let seen = Seen::default();
            let worker = fixture.durable.worker().workflow::<wide>().activity::<work>().state(seen.clone());
            let worker = worker.max_events(200_000).start().await.unwrap();
            let before = polls(width);
            let run = fixture.durable.client().start::<wide>("wide", width).await.unwrap();
            let total = u64::from(width) * u64::from(width - 1) / 2;
            assert_eq!(fixture.soon(run.result()).await.unwrap(), total);
            let seen = seen.0.lock().unwrap().clone();
            assert!(seen.len() == width as usize && seen.values().all(|times| *times == 1), "{width}");
            let events = fixture.history(run.run_id()).await;
            let turn: Vec<_> = events
                .iter()
                .skip_while(|event| !matches!(event.kind, EventKind::ActivityTaskScheduled { .. }))
                .take_while(|event| matches!(event.kind, EventKind::ActivityTaskScheduled { .. }))
                .collect();
            assert_eq!(turn.len(), width as usize, "the turn that asks for them is whole");
            let turns =
                events.iter().filter(|e| matches!(e.kind, EventKind::WorkflowTaskStarted { .. })).count();
            // Each member is polled when it begins and when its own result is there: no more.
            let live = polls(width) - before;
            assert_eq!(live, 2 * u64::from(width), "{width} wide");
            // The start, a command and an outcome each, two for a turn, and the end.
            assert_eq!(events.len(), 2 * width as usize + 2 * turns + 2);
            let identity = RunIdentity { workflow_id: run.workflow_id().clone(), run_id: run.run_id() };
            let limits = HistoryLimits::default();
            let replayed = LiveRun::load(Some(&entry_of::<wide>()), identity, events, limits).unwrap();
            assert!(replayed.is_closed());
            assert_eq!(polls(width) - before - live, live, "replay polls as the first execution did");
            println!("{width} wide: {live} polls, {turns} turns");
            worker.shutdown().await;
        });
    }
}

#[test]
fn ten_thousand_steps_cost_the_same_at_the_end_as_at_the_start_and_replay_is_linear() {
    const STEPS: u32 = 10_001;
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let worker = fixture.durable.worker().workflow::<long>().activity::<work>().state(Seen::default());
        let worker = worker.max_events(200_000).start().await.unwrap();
        let run = fixture.durable.client().start::<long>("long", STEPS).await.unwrap();
        let marks = tokio::select! {
            marks = run.result() => marks.unwrap(),
            () = fixture.pause(std::time::Duration::from_hours(24)) => panic!("it takes too long"),
        };
        let [first, late, end] = marks[..] else { panic!("{marks:?}") };
        assert_eq!((first, end - late), (200, 200), "polls of the first and the last hundred steps");
        assert_eq!(end, 2 * u64::from(STEPS));
        let events = fixture.history(run.run_id()).await;
        assert_eq!(
            events.len(),
            4 * STEPS as usize + 4,
            "four events a step, three for the first turn, and the end"
        );
        let bytes = |event: &durable::history::Event| match event.kind {
            EventKind::WorkflowTaskStarted { bytes, .. } => Some(bytes),
            _ => None,
        };
        let sizes: Vec<u64> = events.iter().filter_map(bytes).collect();
        let grown = |from: usize, to: usize| sizes[to] - sizes[from];
        let (begin, finish) = (grown(1, 101), grown(sizes.len() - 102, sizes.len() - 2));
        assert!(finish <= begin * 11 / 10, "history grows by {begin} bytes at first and {finish} in the end");
        let identity = RunIdentity { workflow_id: run.workflow_id().clone(), run_id: run.run_id() };
        let before = polls(STEPS);
        // The code asks how often it was polled: that is no part of a workflow, and the only thing that differs.
        let replayed = LiveRun::load(Some(&entry_of::<long>()), identity, events, HistoryLimits::default());
        assert!(replayed.unwrap().is_closed());
        assert_eq!(polls(STEPS) - before, end, "replay polls as the first execution did");
        worker.shutdown().await;
    });
}
