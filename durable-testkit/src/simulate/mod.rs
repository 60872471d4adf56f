//! Simulation: many runs, several processes that die, stall, lose answers and have wrong clocks, in an order
//! drawn from a seed. What must hold is checked by those who did not do it.

mod chaos;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::client::Client;
use durable_core::id::Incarnation;
use durable_core::provider::Provider;
use durable_core::runtime::WorkerBuilder;
use durable_core::workflow::{RunIdentity, Workflow, WorkflowEntry, entry_of};

use self::chaos::{Chaos, Process};
use crate::effects::Effects;
use crate::history::check_closed;
use crate::memory::MemoryProvider;
use crate::random::SplitMix;
use crate::world::{Fate, World};

/// Virtual time in which everything has to be done once nothing goes wrong any more.
const LIVENESS: Duration = Duration::from_mins(10);

/// Processes at a time.
const PROCESSES: usize = 3;

/// Storage that several living processes share.
pub trait SharedDatabase {
    /// What a process gets of it.
    type Provider: Provider + Clone + 'static;

    /// Connects another process.
    fn join(&self) -> impl Future<Output = Self::Provider>;

    /// The operating system lets the liveness lock of a dead process go.
    fn release(&self, provider: &Self::Provider, incarnation: Incarnation);
}

impl SharedDatabase for MemoryProvider {
    type Provider = Self;

    async fn join(&self) -> Self {
        self.clone()
    }

    fn release(&self, _provider: &Self, incarnation: Incarnation) {
        self.kill(incarnation);
    }
}

/// What a simulation is told to do.
pub trait Workload {
    /// Registers what the workers run. [`Effects`] and the [`VirtualClock`](crate::VirtualClock) are there as state.
    fn register(&self, worker: WorkerBuilder) -> WorkerBuilder;

    /// Starts runs with [`Runs::expect`] and waits for them.
    fn work(&self, runs: &Runs) -> impl Future<Output = ()>;
}

/// Starts runs and keeps what is to be checked.
pub struct Runs {
    client: Client,
    random: RefCell<SplitMix>,
    finished: RefCell<Vec<Finished>>,
    wrong: RefCell<Vec<String>>,
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

struct Finished {
    entry: Arc<dyn WorkflowEntry>,
    identity: RunIdentity,
}

impl Runs {
    /// A number below `bound`, from the simulation's seed.
    pub fn below(&self, bound: usize) -> usize {
        self.random.borrow_mut().below(bound)
    }

    /// Starts a run and waits for its result, which has to be `expected`.
    pub async fn expect<W: Workflow>(
        &self,
        workflow_id: impl Into<String>,
        input: impl Fn() -> W::Input,
        expected: Result<W::Output, W::Error>,
    ) where
        W::Output: fmt::Debug,
        W::Error: fmt::Debug,
    {
        let id = workflow_id.into();
        // The client gives up after some tries; whoever uses it may try again.
        let run = loop {
            match self.client.start::<W>(id.clone(), input()).await {
                Ok(run) => break run,
                Err(error) if error.is_transient() => {}
                Err(error) => {
                    return self.wrong.borrow_mut().push(format!("`{id}` was not started: {error}"));
                }
            }
        };
        let got = loop {
            match run.result().await {
                Ok(output) => break Ok(output),
                Err(durable_core::client::RunError::Failed { error, .. }) => break Err(error),
                Err(error) if error.is_transient() => {}
                Err(error) => {
                    return self.wrong.borrow_mut().push(format!("`{id}` ended otherwise: {error:?}"));
                }
            }
        };
        let (got, expected) = (format!("{got:?}"), format!("{expected:?}"));
        if got != expected {
            self.wrong.borrow_mut().push(format!("`{id}` ended with {got} instead of {expected}"));
        }
        let identity = RunIdentity { workflow_id: run.workflow_id().clone(), run_id: run.run_id() };
        self.finished.borrow_mut().push(Finished { entry: entry_of::<W>(), identity });
    }
}

/// What one simulation did and found.
#[derive(Debug, Default)]
pub struct Report {
    /// What must hold and did not.
    pub violations: Vec<String>,
    /// Provider calls.
    pub calls: usize,
    /// Processes that died.
    pub deaths: usize,
    /// Calls that failed, lost their answer or were repeated.
    pub faults: usize,
    /// Leases that ran out under a living owner.
    pub stalls: usize,
    /// Times at which every run was dropped from memory.
    pub evictions: usize,
}

impl Report {
    /// Adds another simulation to this one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.violations.extend(other.violations);
        self.calls += other.calls;
        self.deaths += other.deaths;
        self.faults += other.faults;
        self.stalls += other.stalls;
        self.evictions += other.evictions;
        self
    }
}

/// Runs one simulation. The same seed on the same storage is the same simulation.
///
/// Three processes with clocks of their own work on what `workload` starts. The first six hundred calls may
/// fail, lose their answers, be repeated or kill their process; processes stall longer than their lease; runs
/// leave memory. Then nothing goes wrong any more, and everything has to end within ten minutes of virtual time.
///
/// Checked are: results; that each activity has one effect under one idempotency key; that storage accepts
/// nothing from somebody who is no longer the owner; that histories are well-formed and replay to their end.
pub fn simulate<D: SharedDatabase>(seed: u64, database: &D, workload: &impl Workload) -> Report {
    let executor = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(executor) => executor,
        Err(error) => {
            return Report { violations: vec![format!("no executor: {error}")], ..Report::default() };
        }
    };
    let world = World::seeded(seed);
    world.set_patience(LIVENESS + Duration::from_hours(1));
    executor.block_on(world.clone().drive(run(seed, &world, database, workload)))
}

async fn run<D: SharedDatabase>(seed: u64, world: &World, database: &D, workload: &impl Workload) -> Report {
    let mut random = SplitMix::new(seed ^ 0x5eed);
    let (chaos, effects) = (Chaos::new(world, &mut random), Effects::default());
    world.watch_effects(&effects);
    // The client's process makes faulty calls, but does not die.
    let durable = world.process(database.join().await);
    let runs = Runs {
        client: durable.client(),
        random: RefCell::new(SplitMix::new(random.draw())),
        finished: RefCell::default(),
        wrong: RefCell::default(),
    };
    let register = |worker| workload.register(worker).state(effects.clone()).state(world.clock().clone());
    // Both are polled all the time: a call that was let through must not wait for the other's.
    let supervised = async {
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            processes.push(Process::start(world, database, &register, &mut random).await);
        }
        loop {
            tokio::select! {
                biased;
                () = world.crashed() => {}
                () = chaos.pause() => chaos.stir(&mut processes, &mut random),
            }
            for process in processes.iter_mut().filter(|process| process.is_dead(world)) {
                process.bury(database, &mut random);
                *process = Process::start(world, database, &register, &mut random).await;
            }
        }
    };
    tokio::select! {
        biased;
        () = workload.work(&runs) => {}
        () = supervised => {}
    }
    chaos.calm();
    world.direct(|_| Fate::Answer);
    let mut report = chaos.report();
    report.calls = world.calls().len();
    report.deaths = world.dead().len();
    report.violations = world.ownership_violations();
    report.violations.extend(runs.wrong.take());
    report.violations.extend(effects.violation());
    for run in runs.finished.take() {
        let checked = check_closed(&**durable.provider(), &run.entry, run.identity.clone()).await;
        report.violations.extend(checked.err().map(|what| format!("`{}`: {what}", run.identity.workflow_id)));
    }
    report
}
