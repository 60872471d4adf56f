//! What the commit pipeline promises, each against the fault that would break it.

use std::sync::Arc;
use std::time::Duration;

use durable::history::{EventKind, TimeoutKind};
use durable::prelude::*;
use durable::provider::Provider;
use durable_core::time::Clock;
use durable_testkit::{Fate, World, read_history};

use crate::harness::{Calls, Fixture, in_this_world, in_world};

/// The database, for an activity that looks at its own history.
struct Database(Arc<dyn Provider>);

/// Whether the activity's own `Scheduled` event is stored while it runs.
#[activity]
async fn is_recorded(ctx: &ActivityContext) -> Result<bool, String> {
    let history = read_history(&*ctx.state::<Database>().0, ctx.run_id()).await;
    let mine = ctx.activity_id();
    Ok(history
        .map_err(|error| error.to_string())?
        .iter()
        .any(|event| matches!(event.kind, EventKind::ActivityTaskScheduled { id, .. } if id == mine)))
}

#[workflow]
async fn looks(ctx: &WorkflowContext) -> Result<bool, WorkflowError> {
    let (one, two) = durable::join!(is_recorded(ctx), is_recorded(ctx));
    Ok(one? && two? && is_recorded(ctx).await?)
}

#[test]
fn an_effect_starts_only_when_its_own_event_is_stored() {
    // Drawn orders: a look at the history gets past the commit of its own event, if there is such a moment.
    for seed in 0..40 {
        looks_in(World::seeded(seed));
    }
}

fn looks_in(world: World) {
    in_this_world(world, async |world| {
        let fixture = Fixture::new(&world).await;
        let database = Database(Arc::clone(fixture.durable.provider()));
        let worker = fixture.durable.worker().workflow::<looks>().activity::<is_recorded>().state(database);
        let worker = worker.start().await.unwrap();
        let run = fixture.durable.client().start::<looks>("l", ()).await.unwrap();
        assert!(fixture.soon(run.result()).await.unwrap(), "an activity ran before it was recorded");
        worker.shutdown().await;
    });
}

#[activity]
async fn count(ctx: &ActivityContext) -> Result<u32, String> {
    Ok(ctx.state::<Calls>().add())
}

#[workflow]
async fn five(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    for _ in 0..4 {
        count(ctx).await?;
    }
    Ok(count(ctx).await?)
}

#[test]
fn a_commit_whose_answer_is_lost_finds_itself_and_the_run_stays() {
    in_world(async |world| {
        // Every commit is carried out and its answer lost, once.
        let mut lost = false;
        world.direct(move |call| {
            lost = call.name == "workflow_commit" && !lost;
            if lost { Fate::LoseAnswer } else { Fate::Answer }
        });
        let fixture = Fixture::new(&world).await;
        let worker = fixture.durable.worker().workflow::<five>().activity::<count>().state(Calls::default());
        let worker = worker.start().await.unwrap();
        let run = fixture.durable.client().start::<five>("f", ()).await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 5);
        let commits = world.calls().iter().filter(|call| call.name == "workflow_commit").count();
        assert!(commits >= 12, "too few answers were lost: {commits} commits");
        let events = fixture.history(run.run_id()).await;
        let attempts: Vec<u32> = events.iter().filter_map(|event| attempt(&event.kind)).collect();
        assert_eq!(attempts, [1; 5], "the owner took its own commit for another's");
        worker.shutdown().await;
    });
}

fn attempt(kind: &EventKind) -> Option<u32> {
    match kind {
        EventKind::ActivityTaskCompleted { attempt, .. } => Some(*attempt),
        _ => None,
    }
}

/// Worker state: the time of the test.
struct Time(Arc<dyn Clock>);

const LEASE: Duration = Duration::from_secs(2);

/// Runs until its worker has renewed its lease several times.
#[activity]
async fn outlasts(ctx: &ActivityContext) -> Result<u32, String> {
    let clock = &ctx.state::<Time>().0;
    clock.sleep_until(clock.elapsed() + LEASE * 3).await;
    Ok(ctx.attempt())
}

#[workflow]
async fn long(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(outlasts(ctx).await?)
}

#[test]
fn an_activity_outlasts_its_lease_because_it_is_renewed() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let time = Time(Arc::clone(&fixture.clock));
        let worker = fixture.durable.worker().workflow::<long>().activity::<outlasts>().state(time);
        let worker = worker.lease(LEASE).start().await.unwrap();
        let run = fixture.durable.client().start::<long>("l", ()).await.unwrap();
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 1, "the lease ran out under a living owner");
        worker.shutdown().await;
    });
}

#[activity(schedule_to_close = "150ms")]
async fn hangs(_ctx: &ActivityContext) -> Result<(), String> {
    std::future::pending().await
}

#[activity(schedule_to_close = "200ms", retry(initial = "30ms"))]
async fn fails(ctx: &ActivityContext) -> Result<(), String> {
    ctx.state::<Calls>().add();
    Err("no".to_owned())
}

#[workflow]
async fn overdue(ctx: &WorkflowContext) -> Result<bool, WorkflowError> {
    let (hung, failed) = durable::join!(hangs(ctx), fails(ctx));
    let late = ActivityErrorKind::TimedOut(TimeoutKind::ScheduleToClose);
    Ok(hung.unwrap_err().kind == late && failed.unwrap_err().kind == late)
}

#[test]
fn schedule_to_close_ends_one_attempt_as_well_as_many() {
    in_world(async |world| {
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let worker = fixture.durable.worker().workflow::<overdue>().activity::<hangs>().activity::<fails>();
        let worker = worker.state(calls.clone()).start().await.unwrap();
        let run = fixture.durable.client().start::<overdue>("o", ()).await.unwrap();
        assert!(fixture.soon(run.result()).await.unwrap());
        assert!(calls.get() >= 2, "it was not tried again before its limit");
        worker.shutdown().await;
    });
}

/// Takes its worker down twice, as far as the database can tell.
#[activity(retry(max_attempts = 2, initial = "1ms"))]
async fn deadly(ctx: &ActivityContext) -> Result<(), String> {
    ctx.state::<Calls>().add();
    std::future::pending().await
}

#[workflow]
async fn doomed(ctx: &WorkflowContext) -> Result<bool, WorkflowError> {
    Ok(deadly(ctx).await.unwrap_err().kind == ActivityErrorKind::Lost)
}

#[test]
fn max_attempts_holds_across_crashes_and_ends_as_lost() {
    in_world(async |world| {
        let (fixture, calls) = (Fixture::new(&world).await, Calls::default());
        let start = || {
            let worker = fixture.durable.worker().workflow::<doomed>().activity::<deadly>();
            worker.state(calls.clone()).lease(Duration::from_millis(400)).start()
        };
        let mut worker = start().await.unwrap();
        let run = fixture.durable.client().start::<doomed>("d", ()).await.unwrap();
        for attempt in 1..=2 {
            fixture.until("the next attempt", || async { calls.get() == attempt }).await;
            drop(worker);
            worker = start().await.unwrap();
        }
        assert!(fixture.soon(run.result()).await.unwrap());
        assert_eq!(calls.get(), 2);
        worker.shutdown().await;
    });
}

struct Room {
    clock: Arc<dyn Clock>,
    inside: Calls,
    left: Calls,
    attempts: Calls,
    done: Calls,
}

impl Room {
    async fn pause(&self) {
        self.clock.sleep_until(self.clock.elapsed() + Duration::from_millis(2)).await;
    }
}

/// Ordinary work; tells whether the suspect has run.
#[activity]
async fn neighbour(ctx: &ActivityContext) -> Result<bool, String> {
    let room = ctx.state::<Arc<Room>>();
    room.inside.add();
    room.pause().await;
    room.left.add();
    Ok(room.done.get() > 0)
}

/// Kills its first two workers; the third time it counts who is in the room with it.
#[activity(retry(initial = "1ms"))]
async fn suspect(ctx: &ActivityContext) -> Result<u32, String> {
    let room = ctx.state::<Arc<Room>>();
    if room.attempts.add() <= 2 {
        std::future::pending::<()>().await;
    }
    let mut met = 0;
    for _ in 0..30 {
        met += u32::from(room.inside.get() != room.left.get());
        room.pause().await;
    }
    room.done.add();
    Ok(met)
}

#[workflow]
async fn accused(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(suspect(ctx).await?)
}

#[workflow]
async fn chatter(ctx: &WorkflowContext) -> Result<(), WorkflowError> {
    while !neighbour(ctx).await? {}
    Ok(())
}

#[test]
fn an_activity_that_was_lost_twice_runs_alone() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let clock = Arc::clone(&fixture.clock);
        let new = Calls::default;
        let room = Arc::new(Room { clock, inside: new(), left: new(), attempts: new(), done: new() });
        let start = || {
            let worker = fixture.durable.worker().workflow::<accused>().workflow::<chatter>();
            let worker = worker.activity::<suspect>().activity::<neighbour>().state(Arc::clone(&room));
            worker.lease(Duration::from_millis(400)).start()
        };
        let client = fixture.durable.client();
        let mut worker = start().await.unwrap();
        let run = client.start::<accused>("a", ()).await.unwrap();
        for attempt in 1..=2 {
            fixture.until("the next attempt", || async { room.attempts.get() == attempt }).await;
            drop(worker);
            worker = start().await.unwrap();
        }
        let mut beside = Vec::new();
        for n in 0..4 {
            beside.push(client.start::<chatter>(format!("c-{n}"), ()).await.unwrap());
        }
        assert_eq!(fixture.soon(run.result()).await.unwrap(), 0, "others were in the room with a suspect");
        for chat in beside {
            fixture.soon(chat.result()).await.unwrap();
        }
        assert!(room.left.get() > 4, "there was no neighbour to be met");
        worker.shutdown().await;
    });
}
