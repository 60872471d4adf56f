//! Histories as storage has them: read whole, and looked at by somebody who did not write them.

mod shape;

use std::sync::Arc;

use durable_core::history::{Event, decode_batch};
use durable_core::id::{EventId, RunId};
use durable_core::limits::HISTORY_MAX_EVENTS;
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

/// Whether the history of a closed run is well-formed, and replays to its end.
pub(crate) fn check_closed(
    entry: &Arc<dyn WorkflowEntry>,
    identity: RunIdentity,
    events: Vec<Event>,
) -> Result<(), String> {
    shape::check(&events)?;
    match LiveRun::load(Some(entry), identity, events, HISTORY_MAX_EVENTS) {
        Ok(replayed) if replayed.is_closed() => Ok(()),
        Ok(_) => Err("its history does not replay to its end".to_owned()),
        Err(failure) => Err(format!("its history does not replay: {}", failure.reason)),
    }
}
