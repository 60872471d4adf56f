//! History in, code, events out: a run driven by hand, replayed from its beginning after every turn.

use std::marker::PhantomData;

use durable::history::{Event, EventKind, Failure, FailureKind, StartOptions};
use durable::id::{BuildId, CommandId, EventId, IdSeed, RunId, WorkflowId};
use durable::limits::HistoryLimits;
use durable::{Timestamp, Workflow};
use durable_core::engine::Strictness;
use durable_core::payload::encode;
use durable_core::workflow::{LiveRun, RunIdentity, RunOptions, TaskFailure, TurnOutput, entry_of};

pub(crate) fn second(n: i64) -> Timestamp {
    Timestamp::from_micros(1_900_000_000_000_000 + n * 1_000_000)
}

pub(crate) fn build() -> BuildId {
    BuildId::new("test").unwrap()
}

pub(crate) fn identity() -> RunIdentity {
    RunIdentity { workflow_id: WorkflowId::new("w").unwrap(), run_id: RunId(uuid::Uuid::from_u128(1)) }
}

pub(crate) fn load<W: Workflow>(history: &[Event]) -> Result<LiveRun, TaskFailure> {
    let options = RunOptions { limits: HistoryLimits::default(), strictness: Strictness::Refuse };
    LiveRun::load(Some(&entry_of::<W>()), identity(), history.to_vec(), options)
}

pub(crate) fn started<W: Workflow>(input: &W::Input) -> Event {
    Event {
        id: EventId::FIRST,
        at: second(0),
        kind: EventKind::WorkflowExecutionStarted {
            workflow_id: WorkflowId::new("w").unwrap(),
            workflow_type: W::NAME.to_owned(),
            run_number: 1,
            seed: IdSeed(uuid::Uuid::from_u128(42)),
            input: W::encode(input).unwrap(),
            options: StartOptions::default(),
            continued_from: None,
        },
    }
}

/// An activity that returned `Ok(value)`.
pub(crate) fn done(id: u64, value: impl serde::Serialize) -> EventKind {
    EventKind::ActivityTaskCompleted {
        id: CommandId(id),
        attempt: 1,
        result: encode("a test value", &value).unwrap(),
    }
}

/// An activity that returned `Err(error)`.
pub(crate) fn failed(id: u64, error: impl serde::Serialize, message: &str, causes: &[&str]) -> EventKind {
    let mut failure = Failure::new(FailureKind::Application, message)
        .with_causes(causes.iter().map(|cause| (*cause).to_owned()).collect());
    failure.error = Some(encode("a test error", &error).unwrap());
    EventKind::ActivityTaskFailed { id: CommandId(id), attempt: 1, failure }
}

pub(crate) fn fired(id: u64) -> EventKind {
    EventKind::TimerFired { id: CommandId(id) }
}

pub(crate) fn cancel() -> EventKind {
    EventKind::WorkflowExecutionCancelRequested { reason: "test".to_owned() }
}

/// One run and all that it has recorded.
pub(crate) struct Run<W> {
    pub(crate) history: Vec<Event>,
    live: LiveRun,
    time: i64,
    evict: bool,
    marker: PhantomData<W>,
}

impl<W: Workflow> Run<W> {
    pub(crate) fn new(input: &W::Input) -> Self {
        let history = vec![started::<W>(input)];
        Self { live: load::<W>(&history).unwrap(), history, time: 0, evict: false, marker: PhantomData }
    }

    /// The same, dropped from memory before every turn.
    pub(crate) fn evicted_each_turn(input: &W::Input) -> Self {
        Self { evict: true, ..Self::new(input) }
    }

    /// Goes on from a history.
    pub(crate) fn resume(history: Vec<Event>) -> Self {
        Self { live: load::<W>(&history).unwrap(), history, time: 1_000, evict: false, marker: PhantomData }
    }

    pub(crate) fn at(&mut self, time: i64) -> &mut Self {
        self.time = time - 1;
        self
    }

    /// Takes a turn one second later; checks that the whole history still replays.
    pub(crate) fn turn(&mut self, inputs: impl Into<Vec<EventKind>>) -> TurnOutput {
        match self.try_turn(inputs.into()) {
            Ok(output) => output,
            Err(failure) => panic!("the task failed: {failure}"),
        }
    }

    pub(crate) fn try_turn(&mut self, inputs: Vec<EventKind>) -> Result<TurnOutput, TaskFailure> {
        self.time += 1;
        if self.evict {
            self.live = load::<W>(&self.history)?;
        }
        let output = self.live.turn(inputs, second(self.time), &build())?;
        self.history.extend(output.events.iter().cloned());
        let replayed = load::<W>(&self.history)?;
        assert_eq!(replayed.next_event(), self.live.next_event());
        assert_eq!(replayed.open_activities(), self.live.open_activities(), "replay forgot or invented work");
        assert_eq!(replayed.next_timer(), self.live.next_timer());
        Ok(output)
    }

    pub(crate) fn live(&self) -> &LiveRun {
        &self.live
    }
}

/// The commands of a turn, one line each: what it is, its id and its key.
pub(crate) fn commands(output: &TurnOutput) -> Vec<String> {
    output.events.iter().filter_map(|event| command(&event.kind)).collect()
}

fn command(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::ActivityTaskScheduled { id, key, .. } => format!("activity {id} {key}"),
        EventKind::TimerStarted { id, key, .. } => format!("timer {id} {key}"),
        EventKind::ActivityTaskCancelRequested { id } => format!("cancel activity {id}"),
        EventKind::TimerCanceled { id } => format!("cancel timer {id}"),
        EventKind::MarkerRecorded { .. } => "marker".to_owned(),
        EventKind::WorkflowExecutionCompleted { result, .. } => format!("completed {result:?}"),
        EventKind::WorkflowExecutionFailed { failure } => format!("failed {}", failure.message),
        EventKind::WorkflowExecutionCanceled { failure } => format!("canceled {}", failure.message),
        EventKind::WorkflowExecutionContinuedAsNew { input, .. } => format!("continued with {input:?}"),
        _ => return None,
    })
}
