//! Replay as a tool: does code fit what was recorded? Of a file, of one run, of every open run of a database.

mod export;
mod replayer;
mod report;

pub use self::export::{ExportError, RunExport};
pub use self::replayer::Replayer;
#[doc(hidden)]
pub use self::replayer::assert_files;
pub use self::report::{OpenRuns, RunReport, Verdict};

use crate::history::{Event, decode_batch};
use crate::id::{EventId, RunId};
use crate::limits::HISTORY_PAGE_BYTES;
use crate::provider::{ErrorKind, HistoryRead, Provider, ProviderError, ProviderResult};

/// Reads a run's whole history, page by page.
///
/// # Errors
///
/// The provider's; `Corrupt` for a row that cannot be decoded.
pub async fn read_history(provider: &dyn Provider, run_id: RunId) -> ProviderResult<Vec<Event>> {
    let (mut events, mut next) = (Vec::new(), Some(EventId::FIRST));
    while let Some(from) = next {
        let page = provider.history_read(HistoryRead { run_id, from, max_bytes: HISTORY_PAGE_BYTES }).await?;
        for row in &page.rows {
            let decoded = decode_batch(row)
                .map_err(|error| ProviderError::new(ErrorKind::Corrupt, error.to_string()))?;
            events.extend(decoded);
        }
        next = page.next;
    }
    Ok(events)
}
