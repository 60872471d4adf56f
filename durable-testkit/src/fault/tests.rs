//! Each fault does what it says, on the provider in memory.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use durable_core::history::EncodedBatch;
use durable_core::id::{EventId, IdSeed, Incarnation, QueueName, RequestId, RunId, WorkflowId};
use durable_core::provider::{
    ErrorKind, IdPolicy, Maintenance, Provider, ProviderResult, Schema, StartRun, SweepParams, WorkflowClaim,
    WorkflowStore,
};

use super::{Fault, FaultKind, FaultProvider, Gate, Injected, Plan, Rates};
use crate::MemoryProvider;

fn start(id: &str) -> Vec<StartRun> {
    vec![StartRun {
        workflow_id: WorkflowId::new(id).unwrap(),
        workflow_type: "checkout".to_owned(),
        input_digest: [7; 32],
        queue: QueueName::default_queue(),
        priority: 5,
        run_id: RunId::fresh(),
        seed: IdSeed::fresh(),
        request_id: RequestId::fresh(),
        history: EncodedBatch { first: EventId(1), next: EventId(2), bytes: "x".into() },
        policy: IdPolicy::UseExisting,
        now: None,
    }]
}

fn claim() -> WorkflowClaim {
    WorkflowClaim {
        isolate_at: u32::MAX,
        incarnation: Incarnation::fresh(),
        queue: QueueName::default_queue(),
        limit: 1,
        lease: Duration::from_mins(1),
        max_claims: 3,
        now: None,
    }
}

async fn exists(provider: &dyn Provider, id: &str) -> bool {
    provider.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().is_some()
}

/// Polls a call `times` times, each after other tasks had their turn; whether it has returned.
async fn returns(call: impl Future, times: u32) -> bool {
    let mut call = pin!(call);
    for _ in 0..times {
        if poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn an_error_comes_before_the_call_and_only_there() {
    let provider =
        FaultProvider::new(MemoryProvider::new(), Plan::at(2, Fault::Error(ErrorKind::StorageFull)));
    provider.workflow_start(start("a")).await.unwrap();
    assert_eq!(provider.workflow_start(start("b")).await.unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(!exists(&provider, "b").await);
    provider.workflow_start(start("b")).await.unwrap();
    assert!(exists(&provider, "b").await);
}

#[tokio::test]
async fn a_lost_answer_comes_after_the_call_took_effect() {
    let plan = Plan::at_call("workflow_start", 1, Fault::LoseAnswer);
    let provider = FaultProvider::new(MemoryProvider::new(), plan);
    assert!(!exists(&provider, "a").await);
    assert_eq!(provider.workflow_start(start("a")).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(exists(&provider, "a").await);
}

#[tokio::test]
async fn a_duplicate_is_made_twice_and_answers_for_the_second() {
    let plan = Plan::at_call("workflow_claim", 1, Fault::Duplicate);
    let provider = FaultProvider::new(MemoryProvider::new(), plan);
    for id in ["a", "b"] {
        provider.workflow_start(start(id)).await.unwrap();
    }
    assert_eq!(provider.workflow_claim(claim()).await.unwrap().runs[0].workflow_id.as_str(), "b");
    assert!(provider.workflow_claim(claim()).await.unwrap().runs.is_empty());
}

#[tokio::test]
async fn a_delayed_call_is_made_when_its_gate_opens_and_others_overtake_it() {
    let (gate, keeper) = Gate::closed();
    let provider = FaultProvider::new(MemoryProvider::new(), Plan::at(1, Fault::Delay(gate)));
    let slow = tokio::spawn({
        let provider = provider.clone();
        async move { provider.workflow_start(start("slow")).await }
    });
    keeper.arrived(1).await;
    provider.workflow_start(start("fast")).await.unwrap();
    assert!(!exists(&provider, "slow").await);
    keeper.open();
    slow.await.unwrap().unwrap();
    assert!(exists(&provider, "slow").await);
}

#[tokio::test]
async fn a_crash_before_leaves_nothing_and_one_after_everything_and_nobody_gets_an_answer() {
    for (fault, stored) in [(Fault::CrashBefore, false), (Fault::CrashAfter, true)] {
        // Two calls are under way at the crash: one waits at a gate, one waits for the database's answer.
        let (slow, slow_keeper) = Gate::closed();
        let slow = Plan::at_call("due_sweep", 1, Fault::Delay(slow));
        let database = FaultProvider::new(MemoryProvider::new(), slow);
        let inner: Arc<dyn Provider> = Arc::new(database.clone());
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hook = {
            let seen = Arc::clone(&seen);
            move |injected: &Injected| seen.lock().unwrap().push(*injected)
        };
        let (gate, keeper) = Gate::closed();
        let plan = Plan::at(1, Fault::Delay(gate)).and(Plan::at_call("workflow_start", 1, fault.clone()));
        let provider = FaultProvider::crashing(Arc::clone(&inner), plan, hook);
        let sweep = SweepParams { limit: 1, now: None };
        let mut under_way = tokio::spawn({
            let provider = provider.clone();
            async move { provider.lease_reap(sweep).await }
        });
        keeper.arrived(1).await;
        let mut answered = tokio::spawn({
            let provider = provider.clone();
            async move { provider.due_sweep(sweep).await }
        });
        slow_keeper.arrived(1).await;
        assert!(!provider.has_crashed());
        assert!(!returns(provider.workflow_start(start("a")), 20).await);
        provider.crashed().await;
        keeper.open();
        slow_keeper.open();
        assert!(!returns(&mut under_way, 20).await, "a dead process went on");
        assert!(!returns(&mut answered, 20).await, "a dead process got an answer");
        assert!(!returns(provider.clock(), 20).await, "a dead process made a call");
        assert!(!database.calls().contains(&"lease_reap"), "a dead process went on to the database");
        let injected = Injected { call: 3, name: "workflow_start", nth: 1, fault: fault.kind() };
        assert_eq!(*seen.lock().unwrap(), [injected]);
        assert_eq!(provider.calls(), ["lease_reap", "due_sweep", "workflow_start"]);
        // Its successor works on what was stored.
        let successor = FaultProvider::around(inner, Plan::none());
        assert_eq!(exists(&successor, "a").await, stored, "{fault:?}");
        under_way.abort();
        answered.abort();
    }
}

#[tokio::test]
async fn a_plan_counts_by_name_and_in_all_and_the_first_to_name_a_call_has_it() {
    let plan = Plan::at_call("clock", 2, Fault::LoseAnswer)
        .and(Plan::at(3, Fault::Error(ErrorKind::Busy)))
        .and(Plan::at(5, Fault::Duplicate));
    let provider = FaultProvider::new(MemoryProvider::new(), plan);
    let mut failed = Vec::new();
    for number in 1..=6 {
        let answer =
            if number % 2 == 1 { provider.clock().await.map(drop) } else { reap_nothing(&provider).await };
        failed.push(answer.is_err());
    }
    assert_eq!(failed, [false, false, true, false, false, false]);
    let faults: Vec<_> = provider.injected().iter().map(|one| (one.call, one.nth, one.fault)).collect();
    assert_eq!(faults, [(3, 2, FaultKind::LoseAnswer), (5, 3, FaultKind::Duplicate)]);
    assert_eq!(provider.calls()[..3], ["clock", "lease_reap", "clock"]);
}

async fn reap_nothing(provider: &dyn Provider) -> ProviderResult<()> {
    provider.lease_reap(SweepParams { limit: 0, now: None }).await.map(drop)
}

/// What each of `count` calls of two kinds meets, in two orders of the kinds.
async fn drawn(seed: u64, rates: &Rates, count: usize, clocks_first: bool) -> Vec<Injected> {
    let provider = FaultProvider::new(MemoryProvider::new(), Plan::seeded(seed, rates.clone()));
    for _ in 0..count {
        if clocks_first {
            let _ = provider.clock().await;
            let _ = reap_nothing(&provider).await;
        } else {
            let _ = reap_nothing(&provider).await;
            let _ = provider.clock().await;
        }
    }
    provider.injected()
}

#[tokio::test]
async fn a_seed_draws_the_same_faults_again_at_about_the_rates_asked_for() {
    let rates = Rates { error: 100, lose_answer: 50, duplicate: 30, delay: 20, ..Rates::default() };
    let first = drawn(7, &rates, 1000, true).await;
    assert_eq!(first, drawn(7, &rates, 1000, true).await);
    assert_ne!(first, drawn(8, &rates, 1000, true).await);
    // The order of calls of different names does not matter.
    let clocks = |all: &[Injected]| -> Vec<_> {
        all.iter().filter(|one| one.name == "clock").map(|one| (one.nth, one.fault)).collect()
    };
    assert_eq!(clocks(&first), clocks(&drawn(7, &rates, 1000, false).await));
    let count = |wanted: fn(FaultKind) -> bool| first.iter().filter(|one| wanted(one.fault)).count();
    for (found, expected) in [
        (count(|fault| matches!(fault, FaultKind::Error(_))), 200),
        (count(|fault| fault == FaultKind::LoseAnswer), 100),
        (count(|fault| fault == FaultKind::Duplicate), 60),
        (count(|fault| fault == FaultKind::Delay), 40),
    ] {
        assert!(found.abs_diff(expected) < expected / 2, "{found} instead of about {expected}");
    }
    let kinds = [ErrorKind::Busy, ErrorKind::Unavailable, ErrorKind::Conflict, ErrorKind::StorageFull];
    assert!(kinds.iter().all(|&kind| first.iter().any(|one| one.fault == FaultKind::Error(kind))));
    assert!(drawn(7, &Rates::default(), 100, true).await.is_empty());
    let all = Rates { error: 1000, kinds: vec![ErrorKind::Busy], ..Rates::default() };
    assert_eq!(drawn(7, &all, 10, true).await.len(), 20);
}

#[test]
#[should_panic(expected = "1001 out of 1000")]
fn rates_that_cannot_be_are_refused() {
    let _ = Plan::seeded(1, Rates { error: 1000, crash_after: 1, ..Rates::default() });
}
