//! What the `#[activity]` attribute makes of a fn.

use std::pin::Pin;

use super::context::ActivityContext;
use crate::history::ActivityOptions;
use crate::payload::{DataError, DurableData, Payload};
use crate::private::ErrorReport;

/// A boxed future that may move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An activity: its name, its types, its options and its body. Implemented by `#[activity]`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an activity", label = "not marked `#[activity]`")]
pub trait Activity: Sized + 'static {
    /// `()` without parameters, `T` for one, a tuple for more.
    type Input: Send + 'static;
    /// What it returns on success.
    type Output: DurableData + Send;
    /// What it returns on failure.
    type Error: DurableData + Send;
    /// The registered name.
    const NAME: &'static str;

    /// Limits and retry.
    fn options() -> ActivityOptions;
    /// Encodes the arguments as one JSON object keyed by parameter name.
    fn encode(input: &Self::Input) -> Result<Payload, DataError>;
    /// Decodes the arguments.
    fn decode(payload: &Payload) -> Result<Self::Input, DataError>;
    /// What is recorded of an error beside its data.
    fn report(error: &Self::Error) -> ErrorReport;
    /// The body.
    fn run(ctx: ActivityContext, input: Self::Input) -> BoxFuture<Result<Self::Output, Self::Error>>;
}
