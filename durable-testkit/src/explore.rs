//! The crash explorer: every moment at which a process can die, tried one after the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use durable_core::client::WorkflowHandle;
use durable_core::provider::Provider;
use durable_core::runtime::{Durable, StartError, Worker, WorkerBuilder};
use durable_core::time::Clock as _;
use durable_core::workflow::{RunIdentity, Workflow, WorkflowEntry, entry_of};

use crate::effects::{Effects, Place};
use crate::history::check_closed;
use crate::memory::MemoryProvider;
use crate::world::{Call, Fate, World};

/// Virtual time in which a recovered process has to be done.
const PATIENCE: Duration = Duration::from_mins(30);
/// A lease short enough to wait for.
const LEASE: Duration = Duration::from_secs(10);

/// Differences after which an exploration ends: there is enough to look at.
const ENOUGH: usize = 10;

/// A database that outlives the processes that use it.
pub trait Database {
    /// What a process gets of it.
    type Provider: Provider + 'static;

    /// Connects a new process. Those before it are dead.
    fn connect(&self) -> impl Future<Output = Self::Provider>;
}

impl Database for MemoryProvider {
    type Provider = Self;

    async fn connect(&self) -> Self {
        self.kill_all();
        self.clone()
    }
}

/// One process of an explored scenario.
pub struct Stage {
    /// The process's handle on the database.
    pub durable: Durable,
    /// Worker state for activities that change the outside world.
    pub effects: Effects,
    world: World,
    slot: String,
    finished: RefCell<Vec<Finished>>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("slot", &self.slot).finish_non_exhaustive()
    }
}

struct Finished {
    entry: Arc<dyn WorkflowEntry>,
    identity: RunIdentity,
    result: String,
}

impl Stage {
    /// Starts a worker, under another slot if the database refuses for the moment.
    ///
    /// # Panics
    ///
    /// When it cannot be started at all.
    pub async fn start(&self, build: impl Fn(WorkerBuilder) -> WorkerBuilder) -> Worker {
        for n in 0..5 {
            let worker = build(self.durable.worker().build_id("explored").lease(LEASE));
            match worker.state(self.effects.clone()).slot(format!("{}-{n}", self.slot)).start().await {
                Ok(worker) => return worker,
                Err(StartError::Provider(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no worker could be started")
    }

    /// Waits until a run is closed, and keeps its result to be compared, its history to be replayed.
    pub async fn finish<W: Workflow>(&self, run: &WorkflowHandle<W>)
    where
        W::Output: fmt::Debug,
        W::Error: fmt::Debug,
    {
        let result = format!("{:?}", run.result().await);
        let identity = RunIdentity { workflow_id: run.workflow_id().clone(), run_id: run.run_id() };
        self.finished.borrow_mut().push(Finished { entry: entry_of::<W>(), identity, result });
    }

    /// Waits in virtual time.
    pub async fn pause(&self, time: Duration) {
        let clock = self.world.clock();
        clock.sleep_until(clock.elapsed().saturating_add(time)).await;
    }

    /// Results by workflow id, if every history is well-formed and replays to its end.
    async fn conclude(&self) -> Result<BTreeMap<String, String>, String> {
        if let Some(violation) = self.world.ownership_violations().first() {
            return Err(violation.clone());
        }
        let mut results = BTreeMap::new();
        for run in self.finished.take() {
            let id = run.identity.workflow_id.to_string();
            check_closed(&**self.durable.provider(), &run.entry, run.identity)
                .await
                .map_err(|what| format!("`{id}`: {what}"))?;
            results.insert(id, run.result);
        }
        Ok(results)
    }
}

/// A schedule whose outcome differs from the undisturbed one.
#[derive(Debug)]
pub struct Difference {
    /// The call at which it was disturbed, counted from 1.
    pub call: u64,
    /// That call's name, if it was reached.
    pub name: Option<&'static str>,
    /// What was done to it.
    pub fate: Fate,
    /// What differs.
    pub what: String,
}

/// What an exploration found.
#[derive(Debug, Default)]
pub struct Report {
    /// Calls of the undisturbed execution.
    pub calls: u64,
    /// Disturbed executions tried.
    pub schedules: u64,
    /// Those among them in which a process died.
    pub crashes: u64,
    /// Those that ended otherwise than the undisturbed one.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Adds another exploration to this one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.calls += other.calls;
        self.schedules += other.schedules;
        self.crashes += other.crashes;
        self.differences.extend(other.differences);
        self
    }
}

/// What can be done to a call, each in its own execution.
pub const DISTURBANCES: [Fate; 4] = [Fate::CrashBefore, Fate::CrashAfter, Fate::LoseAnswer, Fate::Duplicate];

/// Runs `scenario` undisturbed and counts its provider calls; then once for each call and each of
/// [`DISTURBANCES`]. When that kills the process, another one runs the scenario again on the same database:
/// for odd calls under the dead one's slot, which proves it dead, for even ones under another slot, so that
/// its leases have to run out. Results and effects have to be those of the undisturbed execution, and
/// every history has to replay. After ten differences it ends.
///
/// A scenario starts its workers with [`Stage::start`], its runs under fixed workflow ids, and hands them to
/// [`Stage::finish`]. Neither results nor effects may depend on time, or on how often an activity was tried.
///
/// # Panics
///
/// When the undisturbed execution fails.
#[expect(clippy::needless_pass_by_value, reason = "a closure is written at the call")]
pub fn explore<D: Database>(fresh: impl Fn() -> D, scenario: impl AsyncFn(&Stage)) -> Report {
    let whole = execute(&fresh(), &scenario, 0, None);
    let (expected, calls) = match whole.outcome {
        Ok(outcome) => (outcome, whole.calls.len()),
        Err(error) => panic!("the undisturbed execution failed: {error}"),
    };
    let repeated = whole.executions.saturating_sub(expected.1.len());
    assert_eq!(repeated, 0, "undisturbed, effects were repeated");
    let mut report = Report { calls: u64::try_from(calls).unwrap_or(u64::MAX), ..Report::default() };
    for call in 1..=report.calls {
        for fate in DISTURBANCES {
            if report.differences.len() >= ENOUGH {
                return report;
            }
            let tried = catch_unwind(AssertUnwindSafe(|| execute(&fresh(), &scenario, call, Some(fate))));
            let (what, crashed, name) = match tried {
                Ok(Executed { outcome, crashed, calls, .. }) => {
                    let name =
                        usize::try_from(call - 1).ok().and_then(|n| calls.get(n)).map(|call| call.name);
                    let what = match outcome {
                        Ok(outcome) if outcome == expected => None,
                        Ok(outcome) => Some(format!("{outcome:#?} instead of {expected:#?}")),
                        Err(error) => Some(error),
                    };
                    (what, crashed, name)
                }
                Err(_) => (Some("it panicked; see the text above".to_owned()), false, None),
            };
            report.schedules += 1;
            report.crashes += u64::from(crashed);
            report.differences.extend(what.map(|what| Difference { call, name, fate, what }));
        }
    }
    report
}

type Outcome = (BTreeMap<String, String>, BTreeMap<Place, String>);

struct Executed {
    outcome: Result<Outcome, String>,
    crashed: bool,
    /// Calls of the first process.
    calls: Vec<Call>,
    /// How often effects were made.
    executions: usize,
}

fn execute<D: Database>(
    database: &D,
    scenario: &impl AsyncFn(&Stage),
    disturbed: u64,
    fate: Option<Fate>,
) -> Executed {
    let (first, effects) = (World::new(), Effects::default());
    if let Some(fate) = fate {
        first.direct(move |call| if call.number == disturbed { fate } else { Fate::Answer });
    }
    let calls = RefCell::default();
    let mut life = live(database, &first, "w", &effects, &calls, scenario);
    let crashed = life.is_none();
    let calls = if crashed { first.calls() } else { calls.take() };
    if crashed {
        let slot = if disturbed.is_multiple_of(2) { "heir" } else { "w" };
        life = live(database, &first.after(1), slot, &effects, &RefCell::default(), scenario);
    }
    let results = life.unwrap_or_else(|| Err("the second process died undisturbed".to_owned()));
    let outcome = results.and_then(|results| Ok((results, effects.once_each()?)));
    Executed { outcome, crashed, calls, executions: effects.executions() }
}

/// One process from its start to its end; `None` if it died.
fn live<D: Database>(
    database: &D,
    world: &World,
    slot: &str,
    effects: &Effects,
    calls: &RefCell<Vec<Call>>,
    scenario: &impl AsyncFn(&Stage),
) -> Option<Result<BTreeMap<String, String>, String>> {
    // Dropping the executor is the death of the process: whatever still waits there is gone.
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let executor = match executor {
        Ok(executor) => executor,
        Err(error) => return Some(Err(format!("no executor: {error}"))),
    };
    world.set_patience(PATIENCE);
    world.watch_effects(effects);
    executor.block_on(async {
        let durable = world.process(database.connect().await);
        let stage = Stage {
            durable,
            effects: effects.clone(),
            world: world.clone(),
            slot: slot.to_owned(),
            finished: RefCell::default(),
        };
        let whole = async {
            tokio::select! {
                biased;
                () = world.crashed() => None,
                () = scenario(&stage) => {
                    world.direct(|_| Fate::Answer);
                    calls.replace(world.calls());
                    Some(stage.conclude().await)
                }
            }
        };
        world.drive(whole).await
    })
}
