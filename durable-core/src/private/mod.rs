//! What generated code calls. No part of the public API: it changes with the macros.

mod args;
pub mod data_probe;
pub mod error_probe;
mod outcome;

pub use self::args::{ArgCodec, ArgReader, ArgWriter, arg_codec};

pub use self::error_probe::ErrorReport;
pub use self::outcome::{OutcomeType, Recorded};
pub use crate::payload::{DataError, Payload};

pub use crate::activity::{BoxFuture, OptionsSpec, activity_options};
pub use crate::history::ActivityOptions;
pub use crate::workflow::{
    Block, BranchScope, Durable, DurableFuture, Held, Join, LocalBoxFuture, Polled, Select, TryJoin, block,
    check, durable, join, nothing_to_select, poll_branch, select, try_join,
};
pub use std::task::Poll;
