//! A history that this build cannot read.

use durable::history::{EncodedBatch, Event, EventKind, StartOptions, encode_events};
use durable::id::{EventId, IdSeed, QueueName, RequestId, RunId, WorkflowId};
use durable::prelude::*;
use durable::provider::{HistoryRead, IdPolicy, StartOutcome, StartRun, Status};
use durable_core::payload::{argument_digest, encode};

use crate::harness::{Fixture, in_world};

#[workflow]
async fn plain(_ctx: &WorkflowContext) -> Result<u32, WorkflowError> {
    Ok(7)
}

/// The start of a run as a later release might have written it: with an event kind that is not known here.
fn from_the_future() -> StartRun {
    let (workflow_id, queue) = (WorkflowId::new("odd").unwrap(), QueueName::default_queue());
    let (seed, input) = (IdSeed::fresh(), encode("nothing", &serde_json::json!({})).unwrap());
    let kind = EventKind::WorkflowExecutionStarted {
        workflow_id: workflow_id.clone(),
        workflow_type: "plain".to_owned(),
        run_number: 1,
        seed,
        input: input.clone(),
        options: StartOptions { queue: queue.clone(), priority: 5 },
        continued_from: None,
    };
    let event = Event { id: EventId::FIRST, at: durable::Timestamp::from_micros(0), kind };
    let row = encode_events(&[event]).unwrap().remove(0);
    let text = String::from_utf8(row.bytes.to_vec()).unwrap();
    let bytes = text.replace("WorkflowExecutionStarted", "WorkflowExecutionImagined").into();
    StartRun {
        workflow_id,
        workflow_type: "plain".to_owned(),
        input_digest: argument_digest(&input),
        queue,
        priority: 5,
        run_id: RunId::fresh(),
        seed,
        request_id: RequestId::fresh(),
        history: EncodedBatch { bytes, ..row },
        policy: IdPolicy::default(),
        now: None,
    }
}

#[test]
fn an_event_that_cannot_be_read_blocks_its_run_with_the_event_named_and_no_other() {
    in_world(async |world| {
        let fixture = Fixture::new(&world).await;
        let provider = fixture.durable.provider();
        let start = from_the_future();
        let stored = start.history.bytes.clone();
        let answer = provider.workflow_start(vec![start]).await.unwrap().remove(0).unwrap();
        let StartOutcome::Started(odd) = answer else { panic!("{answer:?}") };
        let beside = fixture.durable.client().start::<plain>("beside", ()).await.unwrap();
        let worker = fixture.durable.worker().workflow::<plain>().build_id("one").start().await.unwrap();
        assert_eq!(fixture.soon(beside.result()).await.unwrap(), 7);
        let view = || async { provider.instance_view(odd.instance).await.unwrap().unwrap() };
        fixture
            .until("blocked twice", || async { view().await.blocked.is_some_and(|b| b.attempts > 1) })
            .await;
        let blocked = view().await.blocked.unwrap();
        assert!(blocked.reason.contains("event 1"), "{}", blocked.reason);
        assert!(blocked.reason.contains("WorkflowExecutionImagined"), "{}", blocked.reason);
        worker.shutdown().await;
        assert_eq!(view().await.status, Status::Blocked);
        let read = HistoryRead { run_id: odd.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        let page = provider.history_read(read).await.unwrap();
        assert_eq!(
            page.rows.iter().map(|row| &row.bytes).collect::<Vec<_>>(),
            [&stored],
            "it was written to"
        );
    });
}
