//! Histories as storage has them: read whole, and looked at by somebody who did not write them.

mod shape;

use std::sync::Arc;

use durable_core::history::{Event, EventKind, decode_batch};
use durable_core::id::{EventId, RunId};
use durable_core::limits::HistoryLimits;
use durable_core::provider::{ErrorKind, HistoryRead, Provider, ProviderError, ProviderResult};
use durable_core::workflow::{LiveRun, RunIdentity, WorkflowEntry};

/// Reads a run's whole history.
///
/// # Errors
///
/// The provider's; `Corrupt` if a row cannot be decoded.
pub async fn read_history(provider: &dyn Provider, run_id: RunId) -> ProviderResult<Vec<Event>> {
    let (mut events, mut next) = (Vec::new(), Some(EventId::FIRST));
    while let Some(from) = next {
        let page = provider.history_read(HistoryRead { run_id, from, max_bytes: usize::MAX }).await?;
        for row in &page.rows {
            let corrupt =
                |error: &dyn std::error::Error| ProviderError::new(ErrorKind::Corrupt, error.to_string());
            events.extend(decode_batch(row).map_err(|error| corrupt(&error))?);
        }
        next = page.next;
    }
    Ok(events)
}

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
