//! The parts of a `Result`, also through an alias, and the check that they are data.

use crate::payload::DurableData;

/// What a workflow or activity returns.
#[diagnostic::on_unimplemented(
    message = "a workflow or activity must return `Result<T, E>`, not `{Self}`",
    label = "not a `Result`"
)]
pub trait OutcomeType {
    /// The output.
    type Ok;
    /// The error.
    type Err;

    /// The result itself.
    fn into_result(self) -> Result<Self::Ok, Self::Err>;
}

#[diagnostic::do_not_recommend]
impl<T, E> OutcomeType for Result<T, E> {
    type Ok = T;
    type Err = E;

    fn into_result(self) -> Self {
        self
    }
}

/// The type itself, if it is data. `Workflow::Output` has a bound of its own, but through it serde's traits
/// would be reported, twice and at length; this trait has no supertraits and so reports itself.
pub trait Recorded {
    /// The type itself.
    type Data;
}

#[diagnostic::do_not_recommend]
impl<T: DurableData> Recorded for T {
    type Data = T;
}
