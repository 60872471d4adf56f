//! Replay through a provider: code that does not fit, errors, and runs that leave memory.

use std::time::Duration;

use durable::history::EventKind;
use durable::id::QueueName;
use durable::prelude::*;
use durable::provider::ActivityClaim;
use durable_core::client::{RunError, WorkflowHandle};
use durable_core::id::Incarnation;
use durable_core::provider::Status;
use durable_core::runtime::{Worker, WorkerBuilder};
use durable_testkit::{Fate, World};

use crate::harness::{Calls, Fixture, in_this_world, in_world};

#[activity]
async fn upper(ctx: &ActivityContext, text: String) -> Result<String, String> {
    ctx.state::<Calls>().add();
    Ok(text.to_uppercase())
}

#[activity]
async fn lower(ctx: &ActivityContext, text: String) -> Result<String, String> {
    ctx.state::<Calls>().add();
    Ok(text.to_lowercase())
}

#[workflow]
async fn letters(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
    let (one, two) = durable::join!(upper(ctx, "a".to_owned()), lower(ctx, "B".to_owned()));
    let both = one? + &two?;
    ctx.sleep(Duration::from_secs(3)).await?;
    Ok(both + &upper(ctx, "c".to_owned()).await?)
}

mod edited {
    use super::*;

    #[workflow(name = "letters")]
    pub(super) async fn other_type(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
        let (one, two) = durable::join!(lower(ctx, "a".to_owned()), lower(ctx, "B".to_owned()));
        let both = one? + &two?;
        ctx.sleep(Duration::from_secs(3)).await?;
        Ok(both)
    }

    #[workflow(name = "letters")]
    pub(super) async fn fewer(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
        let (one, two) = durable::join!(upper(ctx, "a".to_owned()), lower(ctx, "B".to_owned()));
        Ok(one? + &two?)
    }

    #[workflow(name = "letters")]
    pub(super) async fn more(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
        let (one, two) = durable::join!(upper(ctx, "a".to_owned()), lower(ctx, "B".to_owned()));
        let both = one? + &two?;
        let beside = ctx.spawn(upper(ctx, "d".to_owned()));
        ctx.sleep(Duration::from_secs(3)).await?;
        Ok(both + &beside.await?)
    }

    #[workflow(name = "letters")]
    pub(super) async fn reordered(ctx: &WorkflowContext) -> Result<String, WorkflowError> {
        let (two, one) = durable::join!(lower(ctx, "B".to_owned()), upper(ctx, "a".to_owned()));
        let both = one? + &two?;
        ctx.sleep(Duration::from_secs(3)).await?;
        Ok(both)
    }
}

fn with_activities(fixture: &Fixture, calls: &Calls, build: &str) -> WorkerBuilder {
    let worker = fixture.durable.worker().activity::<upper>().activity::<lower>();
    worker.state(calls.clone()).build_id(build)
}

async fn status<W: Workflow>(fixture: &Fixture, run: &WorkflowHandle<W>, wanted: Status) {
    let reached = || async { run.describe().await.unwrap().status == wanted };
    fixture.until(&wanted.to_string(), reached).await;
}

/// A worker with code that does not fit: the run is blocked with the same reason each time, keeps what it has,
/// and ends as if nothing had been once the code that recorded it is back.
async fn does_not_fit(world: &World, wrong: fn(WorkerBuilder) -> WorkerBuilder, difference: &str) {
    let (fixture, calls) = (Fixture::new(world).await, Calls::default());
    let right = |build| with_activities(&fixture, &calls, build).workflow::<letters>().start();
    let one = right("one").await.unwrap();
    let run = fixture.durable.client().start::<letters>("l", ()).await.unwrap();
    status(&fixture, &run, Status::Waiting).await;
    one.shutdown().await;
    let recorded = fixture.history(run.run_id()).await;

    let two = wrong(with_activities(&fixture, &calls, "two")).start().await.unwrap();
    status(&fixture, &run, Status::Blocked).await;
    let mut reasons = Vec::new();
    for attempts in 1..=3 {
        let blocked =
            || async { run.describe().await.unwrap().blocked.is_some_and(|b| b.attempts >= attempts) };
        fixture.until("the next attempt", blocked).await;
        reasons.push(run.describe().await.unwrap().blocked.unwrap().reason);
    }
    assert!(reasons[0].starts_with("nondeterminism: workflow `letters`"), "{}", reasons[0]);
    assert!(reasons[0].contains(difference), "expected {difference:?} in:\n{}", reasons[0]);
    assert!(reasons.iter().all(|reason| *reason == reasons[0]), "{reasons:#?}");
    two.shutdown().await;
    let kept = fixture.history(run.run_id()).await;
    assert_eq!(kept[..recorded.len()], recorded, "what was recorded has changed");
    let progress = kept[recorded.len()..].iter().any(|event| event.kind.is_command());
    assert!(!progress, "code that does not fit has issued a command: {kept:#?}");

    let three = right("three").await.unwrap();
    assert_eq!(fixture.soon(run.result()).await.unwrap(), "AbC");
    assert_eq!(calls.get(), 3, "a finished activity was repeated");
    three.shutdown().await;
}

#[test]
fn code_that_does_not_fit_blocks_with_the_same_reason_each_time_until_fitting_code_returns() {
    in_world(async |world| {
        does_not_fit(&world, WorkerBuilder::workflow::<edited::other_type>, "the activity type differs")
            .await;
        does_not_fit(&world, WorkerBuilder::workflow::<edited::fewer>, "the kind differs").await;
        does_not_fit(&world, WorkerBuilder::workflow::<edited::more>, "differs").await;
        does_not_fit(&world, WorkerBuilder::workflow::<edited::reordered>, "the activity type differs").await;
    });
}

/// Runs `letters` in a world of its own and drops every live run before call `evict`.
fn letters_evicted(evict: Option<u64>) -> (u64, String, Vec<EventKind>) {
    let world = World::new();
    let seen = world.clone();
    let (result, events) = in_this_world(world, async |world| {
        let host = world.clone();
        world.direct(move |call| {
            if evict.is_some_and(|at| call.number == at) {
                host.evict_all();
            }
            Fate::Answer
        });
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let worker = with_activities(&fixture, &calls, "one").workflow::<letters>().start().await.unwrap();
        let run = fixture.durable.client().start::<letters>("l", ()).await.unwrap();
        let result = fixture.soon(run.result()).await.unwrap();
        assert_eq!(calls.get(), 3);
        let events = fixture.history(run.run_id()).await;
        drop(worker);
        (result, events)
    });
    let calls = u64::try_from(seen.calls().len()).unwrap();
    // Two results may share a turn when reading the history took a while: that is time, too.
    let task = |kind: &EventKind| {
        matches!(kind, EventKind::WorkflowTaskStarted { .. } | EventKind::WorkflowTaskCompleted { .. })
    };
    (calls, result, events.into_iter().map(|event| event.kind).filter(|kind| !task(kind)).collect())
}

#[test]
fn evicting_a_run_before_any_call_changes_nothing() {
    let (calls, result, events) = letters_evicted(None);
    assert!(calls > 10, "{calls} calls");
    let mut reread = 0;
    for at in 1..=calls {
        let (made, evicted_result, evicted_events) = letters_evicted(Some(at));
        assert_eq!((&evicted_result, &evicted_events), (&result, &events), "evicted before call {at}");
        reread += u32::from(made > calls);
    }
    assert!(reread > 1, "no eviction made the history be read again");
}

#[workflow]
async fn regrets(ctx: &WorkflowContext, at_once: bool) -> Result<(), WorkflowError> {
    let beside = ctx.spawn(elsewhere(ctx));
    if !at_once {
        ctx.sleep(Duration::from_secs(1)).await?;
    }
    drop(beside);
    ctx.sleep(Duration::from_mins(1)).await?;
    Ok(())
}

#[activity]
async fn elsewhere(_ctx: &ActivityContext) -> Result<(), String> {
    Ok(())
}

async fn queued(world: &World, fixture: &Fixture) -> usize {
    let claim = ActivityClaim {
        incarnation: Incarnation::fresh(),
        queue: QueueName::default_queue(),
        types: vec!["elsewhere".to_owned()],
        isolate_at: 100,
        limit: 10,
        lease: Duration::from_secs(1),
        now: Some(world.clock().now()),
    };
    fixture.durable.provider().activity_claim(claim).await.unwrap().len()
}

#[test]
fn scheduled_and_cancelled_in_one_turn_leaves_nothing_queued_and_later_the_row_goes() {
    for at_once in [true, false] {
        in_world(async |world| {
            let fixture = Fixture::new(&world).await;
            // Not registered here: the activity would be a row for others.
            let worker =
                fixture.durable.worker().workflow::<regrets>().build_id("one").start().await.unwrap();
            let run = fixture.durable.client().start::<regrets>("r", at_once).await.unwrap();
            status(&fixture, &run, Status::Waiting).await;
            if at_once {
                assert_eq!(
                    queued(&world, &fixture).await,
                    0,
                    "an activity that was cancelled at once is queued"
                );
            } else {
                fixture.pause(Duration::from_secs(5)).await;
                assert_eq!(
                    queued(&world, &fixture).await,
                    0,
                    "an activity that was cancelled is still queued"
                );
            }
            fixture.soon(run.result()).await.unwrap();
            let events = fixture.history(run.run_id()).await;
            let count =
                |wanted: fn(&EventKind) -> bool| events.iter().filter(|event| wanted(&event.kind)).count();
            assert_eq!(count(|kind| matches!(kind, EventKind::ActivityTaskScheduled { .. })), 1);
            assert_eq!(count(|kind| matches!(kind, EventKind::ActivityTaskCancelRequested { .. })), 1);
            worker.shutdown().await;
        });
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
enum CardError {
    #[error("card {card} was refused")]
    Refused { card: String, source: Bank },
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("the bank said {0}")]
struct Bank(String);

#[activity(retry(max_attempts = 1))]
async fn charge(ctx: &ActivityContext, card: String) -> Result<u64, CardError> {
    ctx.state::<Calls>().add();
    Err(CardError::Refused { card, source: Bank("no".to_owned()) })
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, thiserror::Error)]
enum ShopError {
    #[error("nothing was bought: {0}")]
    Charge(#[source] ActivityError<CardError>),
    #[error("nondeterminism is what the customer called it")]
    Odd,
}

impl From<Cancelled> for ShopError {
    fn from(_: Cancelled) -> Self {
        Self::Odd
    }
}

#[workflow]
async fn shop(ctx: &WorkflowContext, odd: bool) -> Result<u64, ShopError> {
    let charged = charge(ctx, "4711".to_owned()).await;
    ctx.sleep(Duration::from_mins(1)).await?;
    if odd {
        return Err(ShopError::Odd);
    }
    charged.map_err(ShopError::Charge)
}

async fn shop_worker(fixture: &Fixture, calls: &Calls) -> Worker {
    let worker = fixture.durable.worker().workflow::<shop>().activity::<charge>().build_id("one");
    worker.state(calls.clone()).lease(Duration::from_secs(2)).start().await.unwrap()
}

#[test]
fn typed_errors_come_back_equal_after_a_crash_with_their_sources() {
    in_world(async |world| {
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let dies = shop_worker(&fixture, &calls).await;
        let run = fixture.durable.client().start::<shop>("s", false).await.unwrap();
        status(&fixture, &run, Status::Waiting).await;
        drop(dies);
        // Replayed from what is recorded: the error is revived twice, in the workflow and in the client.
        let heir = shop_worker(&fixture, &calls).await;
        let RunError::Failed { error: ShopError::Charge(error), failure } =
            fixture.soon(run.result()).await.unwrap_err()
        else {
            panic!("another error")
        };
        let refused = CardError::Refused { card: "4711".to_owned(), source: Bank("no".to_owned()) };
        assert_eq!(error.error(), Some(&refused));
        assert_eq!(error.message, "card 4711 was refused");
        assert_eq!(error.causes, ["the bank said no"]);
        assert_eq!(failure.message, "nothing was bought: activity `charge` failed: card 4711 was refused");
        assert_eq!(calls.get(), 1);
        heir.shutdown().await;
    });
}

#[test]
fn an_application_error_ends_the_run_whatever_it_says_and_blocks_nothing() {
    in_world(async |world| {
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let worker = shop_worker(&fixture, &calls).await;
        let run = fixture.durable.client().start::<shop>("s", true).await.unwrap();
        let error = fixture.soon(run.result()).await.unwrap_err();
        assert!(matches!(error, RunError::Failed { error: ShopError::Odd, .. }), "{error:?}");
        let view = run.describe().await.unwrap();
        assert_eq!((view.status, view.blocked), (Status::Failed, None));
        worker.shutdown().await;
    });
}
