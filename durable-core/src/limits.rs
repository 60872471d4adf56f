//! Every limit of the product, in one place (design D9). Options override the ones that say so.

use std::time::Duration;

/// Longest name, id or key, in bytes of UTF-8.
pub const NAME_MAX_BYTES: usize = 255;
/// Largest payload: input, result, marker, error text. 2 MiB.
pub const PAYLOAD_MAX_BYTES: usize = 2 * 1024 * 1024;
/// History past this many events refuses further commands; the run is blocked and its state kept.
pub const HISTORY_MAX_EVENTS: u64 = 20_000;
/// From this many events on a workflow is told to continue in a new run, by default.
pub const CONTINUE_SUGGESTED_EVENTS: u64 = 10_000;
/// From about this size of its history on a workflow is told to continue in a new run, by default. 32 MiB.
pub const CONTINUE_SUGGESTED_BYTES: u64 = 32 * 1024 * 1024;
/// A stored history row is split at an event boundary above this size. 1 MiB.
pub const HISTORY_ROW_BYTES: usize = 1024 * 1024;
/// History is read in pages of about this size. 1 MiB.
pub const HISTORY_PAGE_BYTES: usize = 1024 * 1024;
/// A claim brings the history of a run along if it is one row of at most this size. 64 KiB.
pub const CLAIM_HISTORY_BYTES: usize = 64 * 1024;
/// Longest timer: 100 years of 365 days.
pub const TIMER_MAX: Duration = Duration::from_hours(100 * 365 * 24);
/// How long a claim is trusted without renewal, by default.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);
/// Time limit of one activity attempt, by default.
pub const START_TO_CLOSE_DEFAULT: Duration = Duration::from_mins(5);
/// A turn that polls user code for longer than this is a deadlock, by default.
pub const TURN_LIMIT_DEFAULT: Duration = Duration::from_secs(10);
/// A turn longer than this is reported in the log.
pub const TURN_WARN: Duration = Duration::from_secs(1);
/// A run claimed this often without a committed turn is dead-lettered, by default.
pub const CLAIMS_WITHOUT_PROGRESS_MAX: u32 = 10;
/// From this many claims without progress on, a run is a suspect and runs alone in its process.
pub const CLAIMS_BEFORE_ISOLATION: u32 = 3;
/// Attempts of one activity that may be lost with their process before it ends as `Lost`, by default.
pub const LOST_ATTEMPTS_MAX: u32 = 10;
/// From this many lost attempts on, an activity runs alone in its process.
pub const LOST_BEFORE_ISOLATION: u32 = 2;
/// First delay before a blocked run is tried again; doubles up to [`BLOCKED_RETRY_MAX`].
pub const BLOCKED_RETRY_FIRST: Duration = Duration::from_secs(1);
/// Longest delay before a blocked run is tried again.
pub const BLOCKED_RETRY_MAX: Duration = Duration::from_mins(5);
/// The floor under every wake-up: a poll finds what a notification missed.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long the history of a run may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Past this many events, further commands are refused.
    pub max_events: u64,
    /// From this many events on, continuing in a new run is suggested.
    pub suggest_events: u64,
    /// From about this many bytes on, continuing in a new run is suggested.
    pub suggest_bytes: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            max_events: HISTORY_MAX_EVENTS,
            suggest_events: CONTINUE_SUGGESTED_EVENTS,
            suggest_bytes: CONTINUE_SUGGESTED_BYTES,
        }
    }
}

impl HistoryLimits {
    /// Whether a history of this length is long enough to continue in a new run.
    pub fn suggests_continue(&self, events: u64, bytes: u64) -> bool {
        events >= self.suggest_events || bytes >= self.suggest_bytes
    }
}
