//! Histories as storage has them: read whole, and looked at by somebody who did not write them.

mod shape;

use std::sync::Arc;

use durable_core::history::EventKind;
use durable_core::limits::HistoryLimits;
use durable_core::provider::Provider;
pub use durable_core::replay::read_history;
use durable_core::workflow::{LiveRun, RunIdentity, WorkflowEntry};

/// Whether the histories of an instance's runs are well-formed, follow each other, and replay to their ends; told by
/// its first run, or any later one from which on it is to be checked.
pub(crate) async fn check_closed(
    provider: &dyn Provider,
    entry: &Arc<dyn WorkflowEntry>,
    mut run: RunIdentity,
) -> Result<(), String> {
    let read = async |run_id| read_history(provider, run_id).await.map_err(|error| error.to_string());
    let mut events = read(run.run_id).await?;
    loop {
        shape::check(&events)?;
        match LiveRun::load(Some(entry), run.clone(), events.clone(), HistoryLimits::default()) {
            Ok(replayed) if replayed.is_closed() => {}
            Ok(_) => return Err(format!("the history of run {} does not replay to its end", run.run_id)),
            Err(failure) => {
                return Err(format!("the history of run {} does not replay: {}", run.run_id, failure.reason));
            }
        }
        let Some(EventKind::WorkflowExecutionContinuedAsNew { new_run_id, .. }) =
            events.last().map(|event| &event.kind)
        else {
            return Ok(());
        };
        let next = read(*new_run_id).await?;
        shape::check_link(run.run_id, &events, &next)?;
        run.run_id = *new_run_id;
        events = next;
    }
}
