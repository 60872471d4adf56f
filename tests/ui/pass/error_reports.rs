//! What is reported of an error: its text and causes, or its text, or its data; and its advice.

use std::time::Duration;

use durable::{Activity, ActivityContext, RetryAdvice};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("charge failed")]
struct Charge(#[source] Inner);

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("line is down")]
struct Inner;

impl RetryAdvice for Charge {
    fn retryable(&self) -> bool {
        false
    }
    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

#[derive(Serialize, Deserialize)]
enum Bare {
    Empty(u8),
}

#[durable::activity]
async fn full(_ctx: &ActivityContext) -> Result<(), Charge> {
    Err(Charge(Inner))
}

#[durable::activity]
async fn text(_ctx: &ActivityContext) -> Result<(), String> {
    Err("no".to_owned())
}

#[durable::activity]
async fn bare(_ctx: &ActivityContext) -> Result<(), Bare> {
    Err(Bare::Empty(1))
}

fn main() {
    let report = full::report(&Charge(Inner));
    assert_eq!((report.message.as_str(), report.retryable), ("charge failed", false));
    assert_eq!((report.causes, report.retry_after), (vec!["line is down".to_owned()], Some(Duration::from_secs(1))));
    let report = text::report(&"no".to_owned());
    assert_eq!((report.message.as_str(), report.retryable), ("no", true));
    assert_eq!(bare::report(&Bare::Empty(1)).message, r#"{"Empty":1}"#);
}
