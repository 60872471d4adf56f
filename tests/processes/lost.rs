//! Activities that take their process down with them.

use durable::limits::LOST_ATTEMPTS_MAX;

use crate::child::{brittle, endless, pair, walker};
use crate::supervisor::Supervisor;

#[tokio::test]
async fn an_activity_that_aborts_its_process_is_lost_after_its_attempts_and_its_sibling_keeps_its_steps() {
    let mut supervisor = Supervisor::new().await;
    let client = supervisor.durable.client();
    let run = client.start::<pair>("pair", 6).await.unwrap();
    let other = client.start::<walker>("other", 8).await.unwrap();
    let aborts = supervisor.run_until_ended(&["pair".to_owned(), "other".to_owned()]).await;
    let (lost, total) = run.result().await.unwrap();
    assert!(lost.contains("the process died during attempt 3 (3 attempts were lost so)"), "{lost}");
    assert_eq!((total, other.result().await.unwrap()), (1 + 2 + 3 + 4 + 5 + 6, 36));
    assert_eq!((supervisor.begun("abort"), aborts), (3, 3));
    supervisor.assert_nothing_recorded_was_redone(1 + 6 + 8);
}

#[tokio::test]
async fn an_activity_that_would_abort_for_ever_ends_at_the_limit_of_lost_attempts() {
    let mut supervisor = Supervisor::new().await;
    let client = supervisor.durable.client();
    let run = client.start::<endless>("endless", ()).await.unwrap();
    let mut ids = vec!["endless".to_owned()];
    let mut beside = Vec::new();
    for number in 0..8 {
        ids.push(format!("brittle-{number}"));
        beside.push(client.start::<brittle>(ids[ids.len() - 1].as_str(), ()).await.unwrap());
    }
    let other = client.start::<walker>("other", 8).await.unwrap();
    ids.push("other".to_owned());
    let aborts = supervisor.run_until_ended(&ids).await;
    let lost = run.result().await.unwrap();
    assert!(lost.contains(&format!("({LOST_ATTEMPTS_MAX} attempts were lost so)")), "{lost}");
    assert_eq!(supervisor.begun("abort"), LOST_ATTEMPTS_MAX as usize);
    assert_eq!(aborts, LOST_ATTEMPTS_MAX);
    // Its neighbours had few attempts; being beside it has not used them up.
    for run in beside {
        run.result().await.unwrap();
    }
    assert_eq!(other.result().await.unwrap(), 36);
    supervisor.assert_nothing_recorded_was_redone(1 + 8 + 8);
}
