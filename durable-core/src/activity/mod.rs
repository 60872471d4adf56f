//! Activities: user code that may do anything, at least once unless its contract says otherwise.

mod context;
mod definition;
mod entry;
mod options;

pub use self::context::{ActivityContext, ActivityContextParts, StateMap};
pub use self::definition::{Activity, BoxFuture};
pub use self::entry::{ActivityEntry, AttemptError};
pub use self::options::{OptionsSpec, activity_options};
