//! A finished local activity is never repeated because a later line of the turn that its result wakes fails.
//!
//! A result is committed together with the turn that it wakes; if that turn fails, it is committed without one.
//! The ledger is the service that is charged: it counts every call under its idempotency key.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable::history::{Event, EventKind};
use durable::prelude::*;
use durable_core::runtime::WorkerBuilder;
use tokio::sync::Semaphore;

use crate::harness::{Fixture, in_world};

/// The limit of a turn where a test waits for it to be exceeded.
const SOON: Duration = Duration::from_millis(500);

#[derive(Clone)]
struct Ledger {
    calls: Arc<Mutex<BTreeMap<String, u32>>>,
    /// Lets calls return.
    answers: Arc<Semaphore>,
}

impl Ledger {
    fn new(answers: usize) -> Self {
        Self { calls: Arc::default(), answers: Arc::new(Semaphore::new(answers)) }
    }

    async fn call(&self, what: &str, ctx: &ActivityContext) {
        let key = format!("{} {what} {}", ctx.workflow_id(), ctx.idempotency_key());
        *self.calls.lock().unwrap().entry(key).or_default() += 1;
        self.answers.acquire().await.unwrap().forget();
    }

    /// What a workflow called and how often, one entry for each key.
    fn of(&self, workflow_id: &str) -> Vec<(String, u32)> {
        let calls = self.calls.lock().unwrap();
        let words = |(key, count): (&String, &u32)| {
            let mut words = key.split(' ').map(str::to_owned);
            (words.next().unwrap() == workflow_id).then(|| (words.next().unwrap(), *count))
        };
        calls.iter().filter_map(words).collect()
    }
}

#[activity]
async fn charge(ctx: &ActivityContext, cents: u32) -> Result<u32, String> {
    ctx.state::<Ledger>().call("charge", ctx).await;
    Ok(cents)
}

#[activity]
async fn refund(ctx: &ActivityContext, cents: u32) -> Result<u32, String> {
    ctx.state::<Ledger>().call("refund", ctx).await;
    Ok(cents)
}

/// The code as it should be.
#[workflow(name = "order")]
async fn fixed(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    let charged = charge(ctx, cents).await?;
    Ok(charged + charge(ctx, 1).await?)
}

/// A further command stands before the panic: it must not be carried out.
#[workflow(name = "order")]
async fn panics(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    let charged = charge(ctx, cents).await?;
    let (paid_back, rest) = durable::join!(refund(ctx, charged), panicking(charged));
    Ok(paid_back? + rest)
}

#[durable::helper]
async fn panicking(charged: u32) -> u32 {
    assert!(charged == 0, "broken after the charge");
    charged
}

#[workflow(name = "order")]
async fn never_waits(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    let charged = charge(ctx, cents).await?;
    durable::__private::durable(std::future::pending::<()>()).await;
    Ok(charged)
}

static SPINNING: AtomicBool = AtomicBool::new(true);

#[workflow(name = "order")]
async fn never_ends(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    let charged = charge(ctx, cents).await?;
    while SPINNING.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    Ok(charged)
}

/// Does not fit what `order` has recorded: it begins with another command.
#[workflow(name = "order")]
async fn mismatches(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    let paid_back = refund(ctx, cents).await?;
    Ok(paid_back + charge(ctx, cents).await?)
}

#[workflow]
async fn neighbour(ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(charge(ctx, 7).await?)
}

struct Shop {
    fixture: Fixture,
    ledger: Ledger,
}

impl Shop {
    fn new(fixture: Fixture, answers: usize) -> Self {
        Self { fixture, ledger: Ledger::new(answers) }
    }

    fn build(&self, name: &str) -> WorkerBuilder {
        let worker = self.fixture.durable.worker().build_id(name).workflow::<neighbour>();
        let worker = worker.activity::<charge>().activity::<refund>().state(self.ledger.clone());
        worker.workflow_threads(1).grace(Duration::from_millis(50))
    }

    /// Waits until the run was blocked so often; returns the reason.
    async fn blocked(&self, run: &WorkflowHandle<fixed>, times: u32) -> String {
        let blocked = || async { run.describe().await.unwrap().blocked.filter(|it| it.attempts >= times) };
        self.fixture.until("blocked", || async { blocked().await.is_some() }).await;
        blocked().await.unwrap().reason
    }

    async fn history(&self, run: &WorkflowHandle<fixed>) -> Vec<Event> {
        self.fixture.history(run.run_id()).await
    }

    /// The result of the first command is kept, and no command of the failed turn is.
    async fn assert_kept(&self, run: &WorkflowHandle<fixed>) {
        let history = self.history(run).await;
        let count = |wanted: fn(&EventKind) -> bool| history.iter().filter(|it| wanted(&it.kind)).count();
        let done = count(|kind| matches!(kind, EventKind::ActivityTaskCompleted { .. }));
        let scheduled = count(|kind| matches!(kind, EventKind::ActivityTaskScheduled { .. }));
        assert_eq!((scheduled, done), (1, 1), "{history:#?}");
        assert_eq!(self.ledger.of("order"), [("charge".to_owned(), 1)]);
    }

    /// Fixed code brings the run to its end; each charge was made once.
    async fn assert_goes_on(&self, run: &WorkflowHandle<fixed>, build: &str) {
        let worker = self.build(build).workflow::<fixed>().start().await.unwrap();
        assert_eq!(self.fixture.soon(run.result()).await.unwrap(), 101);
        let charge = || ("charge".to_owned(), 1);
        assert_eq!(self.ledger.of("order"), [charge(), charge()]);
        worker.shutdown().await;
    }
}

/// The turn that the charge wakes fails in `Broken`, as often as it is tried; another run goes on; fixed code ends it.
async fn charges_once<Broken: Workflow>(fixture: Fixture, times: u32, reason: &str, end: fn()) {
    let shop = Shop::new(fixture, 1000);
    let client = shop.fixture.durable.client();
    let worker = shop.build("broken").workflow::<Broken>().turn_limit(SOON).start().await.unwrap();
    let run = client.start::<fixed>("order", 100).await.unwrap();
    let told = shop.blocked(&run, times).await;
    assert!(told.contains(reason), "{told}");
    let beside = client.start::<neighbour>("beside", ()).await.unwrap();
    assert_eq!(shop.fixture.soon(beside.result()).await.unwrap(), 7);
    shop.assert_kept(&run).await;
    end();
    worker.shutdown().await;
    shop.assert_goes_on(&run, "fixed").await;
}

#[test]
fn a_panic_after_a_charge_does_not_charge_again() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        charges_once::<panics>(fixture, 2, "broken after the charge", || {}).await;
    });
}

#[test]
fn a_turn_that_waits_for_nothing_durable_does_not_charge_again() {
    in_world(async |world| {
        charges_once::<never_waits>(Fixture::new(&world).await, 2, "not durable", || {}).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_never_ends_does_not_charge_again() {
    charges_once::<never_ends>(Fixture::threads().await, 1, "deadlock", || {
        SPINNING.store(false, Ordering::SeqCst);
    })
    .await;
}

/// The first build records a charge and leaves; the second one's code begins with another command.
#[test]
fn code_that_does_not_fit_a_recorded_charge_does_not_charge_again() {
    in_world(async |world| {
        let shop = Shop::new(Fixture::new(&world).await, 1);
        let first = shop.build("one").workflow::<fixed>().start().await.unwrap();
        let run = shop.fixture.durable.client().start::<fixed>("order", 100).await.unwrap();
        // The first charge is answered, the second is not: it is aborted, and its attempt does not count.
        shop.fixture.until("the second charge", || async { shop.ledger.of("order").len() == 2 }).await;
        first.shutdown().await;
        let second = shop.build("two").workflow::<mismatches>().start().await.unwrap();
        let told = shop.blocked(&run, 2).await;
        assert!(told.contains("nondeterminism") && told.contains("refund"), "{told}");
        second.shutdown().await;
        let mut calls = shop.ledger.of("order");
        assert_eq!(
            calls,
            [("charge".to_owned(), 1), ("charge".to_owned(), 1)],
            "a build that does not fit called"
        );
        shop.ledger.answers.add_permits(1);
        let third = shop.build("three").workflow::<fixed>().start().await.unwrap();
        assert_eq!(shop.fixture.soon(run.result()).await.unwrap(), 101);
        calls = shop.ledger.of("order");
        calls.sort_by_key(|(_, count)| *count);
        assert_eq!(
            calls,
            [("charge".to_owned(), 1), ("charge".to_owned(), 2)],
            "the answered charge was repeated"
        );
        third.shutdown().await;
    });
}

static CHANGED: AtomicBool = AtomicBool::new(false);

/// Its code changes under a charge that is under way.
#[workflow(name = "order")]
async fn changes(ctx: &WorkflowContext, cents: u32) -> Result<u32, WorkflowError> {
    if CHANGED.load(Ordering::SeqCst) {
        return Ok(refund(ctx, cents).await?);
    }
    Ok(charge(ctx, cents).await?)
}

/// The run leaves memory while its charge is under way; the turn that the result wakes replays, and mismatches.
#[test]
fn a_mismatch_in_the_turn_that_a_charge_wakes_does_not_charge_again() {
    in_world(async |world| {
        let shop = Shop::new(Fixture::new(&world).await, 0);
        let client = shop.fixture.durable.client();
        let worker = shop.build("one").workflow::<changes>();
        let worker = worker.start().await.unwrap();
        let run = client.start::<fixed>("order", 100).await.unwrap();
        shop.fixture.until("the charge", || async { shop.ledger.of("order").len() == 1 }).await;
        world.evict_all();
        CHANGED.store(true, Ordering::SeqCst);
        shop.ledger.answers.add_permits(1000);
        let told = shop.blocked(&run, 2).await;
        assert!(told.contains("nondeterminism") && told.contains("refund"), "{told}");
        shop.assert_kept(&run).await;
        worker.shutdown().await;
        shop.assert_goes_on(&run, "two").await;
    });
}
