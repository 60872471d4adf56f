//! A workflow whose turn takes its process down with it.

use durable::RunError;
use durable::limits::CLAIMS_WITHOUT_PROGRESS_MAX;
use durable::provider::Status;

use crate::child::{poison, walker};
use crate::supervisor::Supervisor;

#[tokio::test]
async fn a_run_that_aborts_each_of_its_processes_is_given_up_alone() {
    let mut supervisor = Supervisor::new().await;
    let client = supervisor.durable.client();
    let mut ids = Vec::new();
    let mut neighbours = Vec::new();
    let mut suspect = None;
    for number in 0..8 {
        // In the middle: some are claimed before it, some after it.
        if number == 1 {
            ids.push("poison".to_owned());
            suspect = Some(client.start::<poison>("poison", ()).await.unwrap());
        }
        ids.push(format!("neighbour-{number}"));
        neighbours.push(client.start::<walker>(ids[ids.len() - 1].as_str(), 3).await.unwrap());
    }
    let aborts = supervisor.run_until_ended(&ids).await;
    let suspect = suspect.unwrap();
    let view = suspect.describe().await.unwrap();
    assert_eq!(view.status, Status::DeadLettered);
    let reason = view.dead_letter_reason.unwrap();
    assert!(reason.contains(&format!("claimed {CLAIMS_WITHOUT_PROGRESS_MAX} times")), "{reason}");
    let told = suspect.result().await.unwrap_err();
    assert!(matches!(&told, RunError::DeadLettered { reason: same } if *same == reason), "{told:?}");
    assert_eq!(supervisor.begun("turn"), CLAIMS_WITHOUT_PROGRESS_MAX as usize);
    assert_eq!(aborts, CLAIMS_WITHOUT_PROGRESS_MAX);
    for run in neighbours {
        let end = run.result().await;
        assert_eq!(end.as_ref().ok(), Some(&6), "{}: {end:?}", run.workflow_id());
    }
    supervisor.assert_nothing_recorded_was_redone(8 * 3);
}
