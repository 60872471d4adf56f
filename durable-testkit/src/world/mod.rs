//! Everything on one thread, in virtual time, one step after the other: executions that can be repeated.

mod choice;
mod gate;
mod gated;
mod owners;
mod skew;
mod stamp;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::runtime::{Durable, InlineHost};
use durable_core::time::Clock;

use self::choice::Choice;
use self::gate::Gate;
pub use self::gate::{Call, Fate};
use self::gated::Gated;
use self::owners::Owners;
pub use self::skew::Skew;
use self::skew::SkewedClock;
use crate::VirtualClock;
use crate::effects::Effects;

/// Virtual time that one [`World::drive`] may take, by default.
const PATIENCE: Duration = Duration::from_hours(24);

/// Steps without any time passing, beyond which something goes round in circles.
const STEPS_MAX: u32 = 50_000;

type Director = Box<dyn FnMut(Call) -> Fate>;

/// A world of processes that share storage and time.
///
/// Each [`World::process`] is a [`Durable`] in deterministic mode: its workers have no threads, its ids come
/// from the world's seed. [`World::drive`] polls a future of yours and, whenever all tasks wait, takes one
/// step: lets one provider call through, or runs one workflow turn, or, if there is neither, moves time to
/// the next moment that anybody waits for. The order is first come, first served ([`World::new`]) or drawn
/// from a seed ([`World::seeded`]); [`World::direct`] decides the fate of each call. Tasks of an activity run
/// on the same executor, so an activity must not block, and must take time and randomness from the test.
///
/// It needs a single-threaded executor: `#[tokio::test]` without a flavour, or a runtime of
/// `Builder::new_current_thread`. Dropping that runtime is the death of all its processes.
///
/// ```
/// use std::time::Duration;
///
/// use durable_core::time::Clock;
/// use durable_testkit::{MemoryProvider, World};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let world = World::new();
/// let durable = world.process(MemoryProvider::new());
/// let clock = world.clock().clone();
/// world.drive(async move {
///     let _worker = durable.worker().build_id("a").start().await.unwrap();
///     clock.sleep_until(Duration::from_secs(60)).await;
/// }).await;
/// assert_eq!(world.calls()[0].name, "worker_register");
/// # });
/// ```
#[derive(Clone)]
pub struct World {
    inner: Rc<Inner>,
}

struct Inner {
    clock: VirtualClock,
    gate: Gate,
    owners: Owners,
    seed: u64,
    hosts: RefCell<Vec<InlineHost>>,
    choice: RefCell<Choice>,
    director: RefCell<Director>,
    patience: Cell<Duration>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("seed", &self.inner.seed).finish_non_exhaustive()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A world whose steps are taken in the order in which they became possible.
    pub fn new() -> Self {
        Self::made(0, Choice::first(), VirtualClock::new())
    }

    /// A world whose steps are taken in an order drawn from the seed.
    pub fn seeded(seed: u64) -> Self {
        Self::made(seed, Choice::seeded(seed), VirtualClock::new())
    }

    /// The same world after the death of all its processes: time goes on, `generation` makes its ids differ.
    #[must_use]
    pub fn after(&self, generation: u64) -> Self {
        let seed = self.inner.seed.wrapping_add(generation << 32);
        Self::made(seed, self.inner.choice.borrow().again(seed), self.inner.clock.clone())
    }

    fn made(seed: u64, choice: Choice, clock: VirtualClock) -> Self {
        let (hosts, choice) = (RefCell::default(), RefCell::new(choice));
        let director: RefCell<Director> = RefCell::new(Box::new(|_| Fate::Answer));
        let (gate, patience) = (Gate::default(), Cell::new(PATIENCE));
        Self {
            inner: Rc::new(Inner {
                clock,
                gate,
                owners: Owners::default(),
                seed,
                hosts,
                choice,
                director,
                patience,
            }),
        }
    }

    /// The time of this world.
    pub fn clock(&self) -> &VirtualClock {
        &self.inner.clock
    }

    /// Another process. Give each its own connection to the same storage.
    pub fn process<P: Provider + 'static>(&self, provider: P) -> Durable {
        self.with_clock(provider, Arc::new(self.inner.clock.clone()))
    }

    /// Another process, whose clock runs wrong.
    pub fn skewed_process<P: Provider + 'static>(&self, provider: P, skew: Skew) -> Durable {
        self.with_clock(provider, Arc::new(SkewedClock { clock: self.inner.clock.clone(), skew }))
    }

    fn with_clock<P: Provider + 'static>(&self, provider: P, clock: Arc<dyn Clock>) -> Durable {
        let (gate, owners) = (self.inner.gate.clone(), self.inner.owners.clone());
        let process = gate.new_process();
        let time = self.inner.clock.clone();
        let provider = Arc::new(Gated { inner: provider, gate, process, clock: time, owners });
        let seed = self.inner.seed.wrapping_add(u64::try_from(process).unwrap_or(0) << 16);
        let (durable, host) = Durable::deterministic(provider, clock, seed);
        self.inner.hosts.borrow_mut().push(host);
        durable
    }

    /// From now on these effects have to follow the storing of their commands.
    pub(crate) fn watch_effects(&self, effects: &Effects) {
        effects.watch();
        self.inner.owners.watch(effects);
    }

    /// Writes that the storage accepted from somebody who was no longer the owner, and claims that it gave to
    /// two: the provider breaks guarantees G1 or G3. And commits that made no sense to it: the runtime is wrong.
    pub fn ownership_violations(&self) -> Vec<String> {
        self.inner.owners.violations()
    }

    /// Decides the fate of each call from now on. Without a director every call is answered.
    pub fn direct(&self, director: impl FnMut(Call) -> Fate + 'static) {
        *self.inner.director.borrow_mut() = Box::new(director);
    }

    /// Virtual time that one [`World::drive`] may take before it panics. Default: a day.
    pub fn set_patience(&self, patience: Duration) {
        self.inner.patience.set(patience);
    }

    /// The calls that were let through, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.inner.gate.passed()
    }

    /// No call of this process is carried out any more. Drop its workers too.
    pub fn kill(&self, process: usize) {
        self.inner.gate.kill(process);
    }

    /// How many processes there were so far.
    pub fn processes(&self) -> usize {
        self.inner.hosts.borrow().len()
    }

    /// The processes that are dead, in the order of their deaths.
    pub fn dead(&self) -> Vec<usize> {
        self.inner.gate.dead()
    }

    /// Returns after a process has died by [`Fate::CrashBefore`] or [`Fate::CrashAfter`].
    pub async fn crashed(&self) {
        self.inner.gate.crashed().notified().await;
    }

    /// Drops every live run of every process from memory, as a cache under pressure does.
    pub fn evict_all(&self) {
        self.inner.hosts.borrow_mut().iter_mut().for_each(InlineHost::evict_all);
    }

    /// Polls `body` to its end, and takes the world's steps in between.
    ///
    /// # Panics
    ///
    /// When the patience is over, or tasks go round in circles: what the body waits for will not happen.
    pub async fn drive<T>(&self, body: impl Future<Output = T>) -> T {
        let (mut body, mut steps) = (pin!(body), pin!(self.steps()));
        std::future::poll_fn(|context| {
            if let Poll::Ready(value) = body.as_mut().poll(context) {
                return Poll::Ready(value);
            }
            let Poll::Pending = steps.as_mut().poll(context);
            Poll::Pending
        })
        .await
    }

    async fn steps(&self) -> std::convert::Infallible {
        let end = self.inner.clock.elapsed().saturating_add(self.inner.patience.get());
        let (mut moment, mut steps) = (self.inner.clock.elapsed(), 0);
        loop {
            self.rest().await;
            let now = self.inner.clock.elapsed();
            steps = if now == moment { steps + 1 } else { 0 };
            moment = now;
            assert!(
                steps < STEPS_MAX,
                "{steps} steps and no time passes, the last calls are {:?}",
                self.last_calls()
            );
            let calls = self.inner.gate.waiting();
            let jobs: usize = self.inner.hosts.borrow_mut().iter_mut().map(InlineHost::waiting).sum();
            let step = self.inner.choice.borrow_mut().next(calls, jobs);
            match step {
                Step::Call(n) => {
                    self.inner.gate.admit(n, |call| (self.inner.director.borrow_mut())(call)).await;
                }
                Step::Job(n) => self.perform(n),
                Step::Time => self.advance(end, calls + jobs > 0).await,
            }
        }
    }

    fn last_calls(&self) -> Vec<&'static str> {
        self.calls().iter().rev().take(8).map(|call| call.name).collect()
    }

    /// Returns when every task of every process waits.
    async fn rest(&self) {
        let polls = || self.inner.hosts.borrow().iter().map(InlineHost::polls).sum::<u64>();
        loop {
            let before = polls();
            tokio::task::yield_now().await;
            if polls() == before {
                return;
            }
        }
    }

    fn perform(&self, n: usize) {
        let mut left = n;
        for host in self.inner.hosts.borrow_mut().iter_mut() {
            let waiting = host.waiting();
            if left < waiting {
                host.perform(left);
                return;
            }
            left -= waiting;
        }
    }

    async fn advance(&self, end: Duration, more: bool) {
        match self.inner.clock.next_deadline() {
            Some(at) => {
                assert!(
                    at <= end,
                    "after {:?} of virtual time the body still waits",
                    self.inner.patience.get()
                );
                self.inner.clock.advance_to(at);
            }
            None if more => {}
            // Only something outside of this world can go on: it wakes the executor.
            None => {
                let mut polled = false;
                std::future::poll_fn(|_| {
                    if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            }
        }
    }
}

/// What can be done next.
enum Step {
    Call(usize),
    Job(usize),
    Time,
}
