//! What generated code calls. No part of the public API: it changes with the macros.

mod args;
pub mod data_probe;
pub mod error_probe;

pub use self::args::{ArgCodec, ArgReader, ArgWriter};
pub use self::error_probe::ErrorReport;
pub use crate::payload::{DataError, Payload};
