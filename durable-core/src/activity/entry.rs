//! An activity without its types, as a registry keeps it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::ActivityContext;
use super::definition::{Activity, BoxFuture};
use crate::history::{Failure, FailureKind};
use crate::payload::{Payload, encode};

/// Why an attempt gave no result, and when it may be made again if the error says so.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptError {
    /// What is recorded.
    pub failure: Failure,
    /// Not before this long.
    pub retry_after: Option<Duration>,
}

type Run = dyn Fn(ActivityContext, Payload) -> BoxFuture<Result<Payload, AttemptError>> + Send + Sync;

/// A registered activity.
#[derive(Clone)]
pub struct ActivityEntry {
    /// The registered name.
    pub name: &'static str,
    run: Arc<Run>,
}

impl fmt::Debug for ActivityEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "activity `{}`", self.name)
    }
}

impl ActivityEntry {
    /// The entry of an activity.
    pub fn of<A: Activity>() -> Self {
        Self { name: A::NAME, run: Arc::new(|ctx, input| Box::pin(attempt::<A>(ctx, input))) }
    }

    /// Makes one attempt.
    pub fn run(&self, ctx: ActivityContext, input: Payload) -> BoxFuture<Result<Payload, AttemptError>> {
        (self.run)(ctx, input)
    }
}

async fn attempt<A: Activity>(ctx: ActivityContext, input: Payload) -> Result<Payload, AttemptError> {
    let refused = |text: String| AttemptError {
        failure: Failure::new(FailureKind::Refused, text).terminal(),
        retry_after: None,
    };
    let input = A::decode(&input).map_err(|error| refused(error.to_string()))?;
    match A::run(ctx, input).await {
        Ok(output) => encode(&format!("the result of activity `{}`", A::NAME), &output)
            .map_err(|error| refused(error.to_string())),
        Err(error) => {
            let report = A::report(&error);
            let payload = encode(&format!("the error of activity `{}`", A::NAME), &error)
                .map_err(|error| refused(error.to_string()))?;
            let mut failure =
                Failure::new(FailureKind::Application, report.message).with_causes(report.causes);
            failure.error = Some(payload);
            failure.retryable = report.retryable;
            Err(AttemptError { failure, retry_after: report.retry_after })
        }
    }
}
