//! What the `#[workflow]` attribute makes of a fn.

use std::pin::Pin;

use super::context::WorkflowContext;
use crate::payload::{DataError, DurableData, Payload};
use crate::private::ErrorReport;

/// A boxed future that stays on its workflow thread.
pub type LocalBoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A workflow: its name, its types and its body. Implemented by `#[workflow]`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a workflow", label = "not marked `#[workflow]`")]
pub trait Workflow: Sized + 'static {
    /// `()` without parameters, `T` for one, a tuple for more.
    type Input: 'static;
    /// What it returns on success.
    type Output: DurableData;
    /// What it returns on failure.
    type Error: DurableData;
    /// The registered name.
    const NAME: &'static str;

    /// Encodes the arguments as one JSON object keyed by parameter name.
    fn encode(input: &Self::Input) -> Result<Payload, DataError>;
    /// Decodes the arguments.
    fn decode(payload: &Payload) -> Result<Self::Input, DataError>;
    /// What is recorded of an error beside its data.
    fn report(error: &Self::Error) -> ErrorReport;
    /// The body.
    fn run(ctx: WorkflowContext, input: Self::Input) -> LocalBoxFuture<Result<Self::Output, Self::Error>>;
}
