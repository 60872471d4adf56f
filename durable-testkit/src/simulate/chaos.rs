//! What goes wrong, drawn from the seed, until it is enough.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use durable_core::provider::ErrorKind;
use durable_core::runtime::{Worker, WorkerBuilder};
use durable_core::time::Clock as _;

use super::{Report, SharedDatabase};
use crate::random::SplitMix;
use crate::world::{Call, Fate, Skew, World};

/// Calls after which nothing goes wrong any more.
const TROUBLE: u64 = 600;
/// How long claims are trusted.
const LEASE: Duration = Duration::from_secs(8);

/// What goes wrong in one simulation.
pub(super) struct Chaos {
    world: World,
    calm: Rc<Cell<bool>>,
    faults: Rc<Cell<usize>>,
    stalls: Cell<usize>,
    evictions: Cell<usize>,
}

impl Chaos {
    pub(super) fn new(world: &World, random: &mut SplitMix) -> Self {
        let (calm, faults) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        // Some simulations are rough, some nearly quiet.
        let (fault_rate, death_rate) = ([0, 10, 40, 120][random.below(4)], [0, 4, 12][random.below(3)]);
        let mut drawn = SplitMix::new(random.draw());
        let (is_calm, counted) = (Rc::clone(&calm), Rc::clone(&faults));
        world.direct(move |call| {
            if is_calm.get() || call.number > TROUBLE {
                is_calm.set(true);
                return Fate::Answer;
            }
            let fate = fate(call, &mut drawn, fault_rate, death_rate);
            counted.set(counted.get() + usize::from(fate != Fate::Answer));
            fate
        });
        Self { world: world.clone(), calm, faults, stalls: Cell::new(0), evictions: Cell::new(0) }
    }

    /// Until something may be stirred again.
    pub(super) async fn pause(&self) {
        let clock = self.world.clock();
        clock.sleep_until(clock.elapsed() + Duration::from_millis(700)).await;
    }

    /// Now and then: runs leave memory, everybody stalls longer than a lease, a worker is dropped.
    pub(super) fn stir<P>(&self, processes: &mut [Process<P>], random: &mut SplitMix) {
        if self.calm.get() {
            return;
        }
        match random.below(12) {
            0..=2 => {
                self.world.evict_all();
                self.evictions.set(self.evictions.get() + 1);
            }
            3 => {
                self.world.clock().advance(LEASE + Duration::from_secs(1));
                self.stalls.set(self.stalls.get() + 1);
            }
            4 => {
                let n = random.below(processes.len());
                self.world.kill(processes[n].number);
            }
            _ => {}
        }
    }

    pub(super) fn calm(&self) {
        self.calm.set(true);
    }

    pub(super) fn report(&self) -> Report {
        Report {
            faults: self.faults.get(),
            stalls: self.stalls.get(),
            evictions: self.evictions.get(),
            ..Report::default()
        }
    }
}

fn fate(call: Call, random: &mut SplitMix, faults: usize, deaths: usize) -> Fate {
    let drawn = random.below(1000);
    if drawn < deaths && call.process > 0 {
        return if drawn.is_multiple_of(2) { Fate::CrashBefore } else { Fate::CrashAfter };
    }
    if !(deaths..deaths + faults).contains(&drawn) {
        return Fate::Answer;
    }
    match random.below(6) {
        0 | 1 => Fate::LoseAnswer,
        2 => Fate::Duplicate,
        3 => Fate::Error(ErrorKind::Busy),
        4 => Fate::Error(ErrorKind::Unavailable),
        _ => Fate::Error(ErrorKind::Conflict),
    }
}

/// One process with its worker.
pub(super) struct Process<P> {
    number: usize,
    provider: P,
    worker: Option<Worker>,
}

impl<P> Process<P> {
    /// Starts a process with a clock of its own. Under faults it may take more than one.
    pub(super) async fn start<D: SharedDatabase<Provider = P>>(
        world: &World,
        database: &D,
        register: &impl Fn(WorkerBuilder) -> WorkerBuilder,
        random: &mut SplitMix,
    ) -> Self
    where
        P: durable_core::provider::Provider + Clone + 'static,
    {
        let skew = Skew {
            ahead: Duration::from_secs([0, 0, 3600][random.below(3)]),
            per_thousand: [1000, 1000, 900, 1100][random.below(4)],
        };
        let provider = database.join().await;
        let durable = world.skewed_process(provider.clone(), skew);
        let number = world.processes() - 1;
        let mut worker = None;
        while worker.is_none() && !world.dead().contains(&number) {
            let building = register(durable.worker()).build_id("simulated").lease(LEASE);
            let building =
                building.cached_runs([2, 50][random.below(2)]).max_activities([3, 50][random.below(2)]);
            tokio::select! {
                biased;
                started = building.start() => worker = started.ok(),
                () = died(world, number) => {}
            }
        }
        Self { number, provider, worker }
    }

    pub(super) fn is_dead(&self, world: &World) -> bool {
        world.dead().contains(&self.number)
    }

    /// Ends what is left of a dead process. Every other time its liveness lock is noticed to be free.
    pub(super) fn bury<D: SharedDatabase<Provider = P>>(&mut self, database: &D, random: &mut SplitMix) {
        if let Some(worker) = self.worker.take()
            && random.below(2) == 0
        {
            database.release(&self.provider, worker.incarnation());
        }
    }
}

/// A start whose process dies does not return.
async fn died(world: &World, number: usize) {
    let clock = world.clock();
    while !world.dead().contains(&number) {
        clock.sleep_until(clock.elapsed() + Duration::from_millis(100)).await;
    }
}
