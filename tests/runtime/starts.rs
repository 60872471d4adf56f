//! Starts share transactions, and each has its own answer; a result is told by the commit that closed the run.

use std::collections::HashSet;
use std::sync::Arc;

use durable::prelude::*;
use durable::{ClientError, WorkflowHandle};
use durable_core::provider::ErrorKind;
use durable_core::runtime::Durable;
use durable_core::time::SystemClock;
use durable_testkit::MemoryProvider;
use durable_testkit::fault::{Fault, FaultProvider, Gate, Plan};
use tokio::task::JoinSet;

use crate::backend::{self, Backend};

#[workflow]
async fn echo(_ctx: &WorkflowContext, number: u32) -> Result<u32, WorkflowError> {
    Ok(number)
}

#[workflow]
async fn other(_ctx: &WorkflowContext, number: u32) -> Result<u32, WorkflowError> {
    Ok(number)
}

/// A process on a provider with faults, on the machine's clock.
struct Process {
    durable: Durable,
    faults: Arc<FaultProvider<Backend>>,
    _files: Option<tempfile::TempDir>,
}

impl Process {
    async fn new(plan: Plan) -> Self {
        let (provider, files) = backend::open().await;
        let faults = Arc::new(FaultProvider::new(provider, plan));
        let durable =
            Durable::new(Arc::<FaultProvider<Backend>>::clone(&faults), Arc::new(SystemClock::new()));
        Self { durable, faults, _files: files }
    }

    /// How often the provider was called so.
    fn calls(&self, name: &str) -> usize {
        self.faults.calls().into_iter().filter(|call| *call == name).count()
    }

    /// Starts `echo` under these ids at the same moment; the answers in order of the ids.
    async fn start_all(&self, ids: &[String]) -> Vec<Result<WorkflowHandle<echo>, ClientError>> {
        let mut starts = JoinSet::new();
        for (place, id) in ids.iter().cloned().enumerate() {
            let client = self.durable.client();
            let number = u32::try_from(place).unwrap();
            starts.spawn(async move { (place, client.start::<echo>(id, number).await) });
        }
        let mut answers = starts.join_all().await;
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("run-{number}")).collect()
}

#[tokio::test]
async fn starts_that_arrive_together_share_transactions_and_each_gets_its_own_answer() {
    let process = Process::new(Plan::none()).await;
    // The clock is known after it: the others hand over at the same moment.
    process.durable.client().start::<echo>("before", 0).await.unwrap();
    let ids = ids(50);
    let handles: Vec<_> = process.start_all(&ids).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(process.calls("clock"), 1);
    // The first may go alone: nothing waits for company.
    assert!(process.calls("workflow_start") <= 3, "{:?}", process.faults.calls());
    let instances: HashSet<_> = handles.iter().map(WorkflowHandle::instance).collect();
    assert_eq!(instances.len(), ids.len());
    for (handle, id) in handles.iter().zip(&ids) {
        assert_eq!(handle.describe().await.unwrap().workflow_id.as_str(), id);
    }
}

#[tokio::test]
async fn starts_that_arrive_together_read_the_clock_once() {
    let process = Process::new(Plan::none()).await;
    process.start_all(&ids(20)).await.into_iter().for_each(|answer| drop(answer.unwrap()));
    assert_eq!(process.calls("clock"), 1);
}

#[tokio::test]
async fn a_start_that_is_refused_hurts_no_neighbour() {
    let process = Process::new(Plan::none()).await;
    let client = process.durable.client();
    client.start::<other>("taken", 0).await.unwrap();
    let (good, urgent, taken, more) = tokio::join!(
        client.start::<echo>("good", 1).into_future(),
        client.start::<echo>("urgent", 2).priority(10).into_future(),
        client.start::<echo>("taken", 3).into_future(),
        client.start::<echo>("more", 4).into_future(),
    );
    assert_eq!(process.calls("workflow_start"), 2, "the first, then these four together");
    assert_ne!(good.unwrap().instance(), more.unwrap().instance());
    let ClientError::Provider(error) = urgent.unwrap_err() else { panic!("not the provider's") };
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = taken.unwrap_err().to_string();
    assert!(text.contains("`other`") && text.contains("`echo`"), "{text}");
}

#[tokio::test]
async fn a_transaction_that_one_member_makes_fail_is_made_again_in_halves() {
    let (gate, keeper) = Gate::closed();
    let plan = Plan::at_call("workflow_start", 1, Fault::Delay(gate))
        .and(Plan::at_call("workflow_start", 2, Fault::Error(ErrorKind::Conflict)))
        .and(Plan::at_call("workflow_start", 3, Fault::LoseAnswer));
    let process = Process::new(plan).await;
    let client = process.durable.client();
    let before = tokio::spawn(async move { client.start::<echo>("before", 0).await });
    keeper.arrived(1).await;
    let ids = ids(8);
    // While one is written, these hand over; then they are written together.
    let (answers, ()) = tokio::join!(process.start_all(&ids), async {
        tokio::task::yield_now().await;
        keeper.open();
    });
    before.await.unwrap().unwrap();
    let instances: HashSet<_> = answers.into_iter().map(|answer| answer.unwrap().instance()).collect();
    assert_eq!(instances.len(), ids.len());
    assert_eq!(process.faults.injected().len(), 3);
    // The one before, all, both halves, and what the first of them held once more.
    assert!((5..=8).contains(&process.calls("workflow_start")), "{:?}", process.faults.calls());
}

#[tokio::test]
async fn a_lost_answer_starts_nothing_twice() {
    let process = Process::new(Plan::at_call("workflow_start", 1, Fault::LoseAnswer)).await;
    let client = process.durable.client();
    // By this policy a second start of the id would be refused: only the request id tells that it is the same.
    let policy = durable_core::provider::IdPolicy::Reject;
    let handle = client.start::<echo>("once", 1).id_policy(policy).await.unwrap();
    assert_eq!(handle.describe().await.unwrap().run_number, 1);
    assert_eq!(process.calls("workflow_start"), 2);
}

#[tokio::test]
async fn a_caller_that_gives_up_takes_nothing_from_its_neighbours() {
    let (gate, keeper) = Gate::closed();
    let process = Process::new(Plan::at_call("workflow_start", 1, Fault::Delay(gate))).await;
    let client = process.durable.client();
    let start = |id: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.start::<echo>(id, 1).await })
    };
    let writing = start("writing");
    keeper.arrived(1).await;
    let (dropped, kept) = (start("dropped"), start("kept"));
    // On one thread both have handed over once this task is polled again.
    tokio::task::yield_now().await;
    writing.abort();
    dropped.abort();
    keeper.open();
    assert_eq!(kept.await.unwrap().unwrap().workflow_id().as_str(), "kept");
    assert!(writing.await.unwrap_err().is_cancelled() && dropped.await.unwrap_err().is_cancelled());
    // What was handed over is made.
    for id in ["writing", "dropped"] {
        client.handle::<echo>(id).await.unwrap();
    }
}

#[test]
fn a_start_outlives_the_runtime_that_wrote_for_it() {
    let (gate, keeper) = Gate::closed();
    let plan = Plan::at_call("workflow_start", 1, Fault::Delay(gate));
    let faults = FaultProvider::new(MemoryProvider::new(), plan);
    let durable = Durable::new(Arc::new(faults), Arc::new(SystemClock::new()));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let client = durable.client();
    first.block_on(async {
        let client = client.clone();
        tokio::spawn(async move { client.start::<echo>("first", 1).await });
        keeper.arrived(1).await;
    });
    second.block_on(async {
        let waiting = {
            let client = client.clone();
            tokio::spawn(async move { client.start::<echo>("second", 2).await })
        };
        tokio::task::yield_now().await;
        first.shutdown_background();
        // Nobody opens the gate: the task that waits there is gone.
        assert_eq!(waiting.await.unwrap().unwrap().workflow_id().as_str(), "second");
    });
}

#[tokio::test]
async fn a_result_in_the_same_process_is_told_without_another_look_at_the_database() {
    let process = Process::new(Plan::none()).await;
    let worker = process.durable.worker().workflow::<echo>().start().await.unwrap();
    let handle = process.durable.client().start::<echo>("told", 7).await.unwrap();
    assert_eq!(handle.result().await.unwrap(), 7);
    // One look at most before it waited; whoever asks later looks again.
    assert!(process.calls("instance_view") <= 1, "{:?}", process.faults.calls());
    // Its claim brought the history along.
    assert_eq!(process.calls("history_read"), 0);
    assert_eq!(handle.result().await.unwrap(), 7);
    worker.shutdown().await;
}
