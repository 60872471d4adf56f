//! Turns a user's error into a report, using what its type offers: `std::error::Error`, else `Display`,
//! else its JSON. The method is found by autoref: a reference more is a better offer.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use crate::retry::RetryAdvice;

/// Deepest chain of sources that is recorded: a chain without an end must not hang a worker.
const CAUSES_MAX: usize = 64;

/// What is recorded of an error beside its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// The error's own text.
    pub message: String,
    /// The texts of its sources, outermost first.
    pub causes: Vec<String>,
    /// Whether another attempt may help.
    pub retryable: bool,
    /// Not before this long, if the error knows better than the retry policy.
    pub retry_after: Option<Duration>,
}

impl ErrorReport {
    /// Puts the two answers of a probe together.
    pub fn new((message, causes): (String, Vec<String>), advice: (bool, Option<Duration>)) -> Self {
        Self { message, causes, retryable: advice.0, retry_after: advice.1 }
    }
}

/// The error to report.
#[derive(Debug)]
pub struct ErrorProbe<'a, E>(pub &'a E);

/// Text of a `std::error::Error`, with its sources.
pub trait TextOfError {
    /// The message and the causes.
    fn durable_text(&self) -> (String, Vec<String>);
}

impl<E: Error> TextOfError for &&&ErrorProbe<'_, E> {
    fn durable_text(&self) -> (String, Vec<String>) {
        let causes = std::iter::successors(self.0.source(), |&cause| cause.source());
        (self.0.to_string(), causes.take(CAUSES_MAX).map(ToString::to_string).collect())
    }
}

/// Text of something that can be displayed.
pub trait TextOfDisplay {
    /// The message, without causes.
    fn durable_text(&self) -> (String, Vec<String>);
}

impl<E: Display> TextOfDisplay for &&ErrorProbe<'_, E> {
    fn durable_text(&self) -> (String, Vec<String>) {
        (self.0.to_string(), Vec::new())
    }
}

/// Text of something that is only data.
pub trait TextOfData {
    /// The message, without causes.
    fn durable_text(&self) -> (String, Vec<String>);
}

impl<E: Serialize> TextOfData for &ErrorProbe<'_, E> {
    fn durable_text(&self) -> (String, Vec<String>) {
        let text = serde_json::to_string(self.0);
        (text.unwrap_or_else(|_| std::any::type_name::<E>().to_owned()), Vec::new())
    }
}

/// Text of anything else, so that an error type that is no data is reported once, where it is declared.
pub trait TextOfAny {
    /// The type's name.
    fn durable_text(&self) -> (String, Vec<String>);
}

impl<E> TextOfAny for ErrorProbe<'_, E> {
    fn durable_text(&self) -> (String, Vec<String>) {
        (std::any::type_name::<E>().to_owned(), Vec::new())
    }
}

/// Advice of an error that gives some.
pub trait AdviceOfError {
    /// Whether to retry, and when at the earliest.
    fn durable_advice(&self) -> (bool, Option<Duration>);
}

impl<E: RetryAdvice> AdviceOfError for &ErrorProbe<'_, E> {
    fn durable_advice(&self) -> (bool, Option<Duration>) {
        (self.0.retryable(), self.0.retry_after())
    }
}

/// Advice where there is none: the retry policy decides.
pub trait AdviceOfNone {
    /// Retry by policy.
    fn durable_advice(&self) -> (bool, Option<Duration>);
}

impl<E> AdviceOfNone for ErrorProbe<'_, E> {
    fn durable_advice(&self) -> (bool, Option<Duration>) {
        (true, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! report {
        ($error:expr) => {{
            let probe = ErrorProbe($error);
            ErrorReport::new((&&&&probe).durable_text(), (&&probe).durable_advice())
        }};
    }

    #[derive(Debug, thiserror::Error)]
    #[error("declined")]
    struct Declined(#[source] std::num::ParseIntError);

    impl RetryAdvice for Declined {
        fn retryable(&self) -> bool {
            false
        }
        fn retry_after(&self) -> Option<Duration> {
            Some(Duration::from_secs(9))
        }
    }

    #[derive(Serialize)]
    enum Bare {
        Empty { shelf: u8 },
    }

    #[test]
    fn an_error_gives_its_text_its_sources_and_its_advice() {
        let report = report!(&Declined("x".parse::<u8>().unwrap_err()));
        assert_eq!(report.message, "declined");
        assert_eq!(report.causes, ["invalid digit found in string"]);
        assert!(!report.retryable);
        assert_eq!(report.retry_after, Some(Duration::from_secs(9)));
    }

    struct Nothing;

    #[test]
    fn less_than_an_error_is_taken_as_it_comes() {
        assert_eq!(report!(&"text".to_owned()).message, "text");
        assert_eq!(report!(&Bare::Empty { shelf: 3 }).message, r#"{"Empty":{"shelf":3}}"#);
        assert!(report!(&Nothing).message.ends_with("Nothing"));
        assert!(report!(&Nothing).retryable);
    }
}
