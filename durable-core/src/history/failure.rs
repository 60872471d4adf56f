//! How a failure is recorded: its kind, its texts, and the typed error as data.

use serde::{Deserialize, Serialize};

use crate::limits::PAYLOAD_MAX_BYTES;
use crate::payload::Payload;

/// Which limit of an activity ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// One attempt took too long.
    StartToClose,
    /// All attempts together, with the waiting between them, took too long.
    ScheduleToClose,
    /// No attempt began in time.
    ScheduleToStart,
    /// The attempt stopped reporting.
    Heartbeat,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureKind {
    /// The user's code returned `Err`.
    Application,
    /// The user's code panicked.
    Panicked,
    /// A time limit ran out.
    TimedOut(TimeoutKind),
    /// It was cancelled.
    Cancelled,
    /// The process died during the last attempt that the policy allows.
    Lost,
    /// The product refused it: its result could not be encoded or is over the limit.
    Refused,
}

/// A failure as history records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// The error's own text.
    pub message: String,
    /// The texts of its sources, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The typed error, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Payload>,
    /// Whether another attempt may help.
    #[serde(default)]
    pub retryable: bool,
}

impl Failure {
    /// A failure without a typed error; text over the payload limit is cut, and says so.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: capped(message.into()), causes: Vec::new(), error: None, retryable: true }
    }

    /// The same failure, not to be retried.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// About how many bytes it is in storage.
    pub fn approximate_bytes(&self) -> usize {
        self.message.len()
            + self.causes.iter().map(String::len).sum::<usize>()
            + self.error.as_ref().map_or(0, |error| error.bytes.len())
    }

    /// The same failure with the texts of its sources, outermost first, within the payload limit.
    #[must_use]
    pub fn with_causes(mut self, causes: Vec<String>) -> Self {
        let mut left = PAYLOAD_MAX_BYTES;
        for cause in causes {
            let cause = capped(cause);
            if cause.len() > left {
                break;
            }
            left -= cause.len();
            self.causes.push(cause);
        }
        self
    }
}

fn capped(mut text: String) -> String {
    if text.len() > PAYLOAD_MAX_BYTES {
        let note = format!(" … [cut: the error text had {} bytes]", text.len());
        let mut end = PAYLOAD_MAX_BYTES - note.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(&note);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_text_over_the_limit_is_cut_at_a_character_and_says_so() {
        let failure = Failure::new(FailureKind::Application, "é".repeat(PAYLOAD_MAX_BYTES));
        assert!(failure.message.len() <= PAYLOAD_MAX_BYTES);
        assert!(
            failure.message.ends_with("[cut: the error text had 4194304 bytes]"),
            "cut text lost its note"
        );
    }
}
