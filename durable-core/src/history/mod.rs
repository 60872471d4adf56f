//! History: the ordered events of one run, the only truth about it, and how they are stored.

mod codec;
mod event;
mod failure;

pub use self::codec::{CorruptHistory, EncodedBatch, FORMAT_VERSION, decode_batch, encode_events};
pub use self::event::{ActivityOptions, Event, EventKind, Marker, Placement, StartOptions};
pub use self::failure::{Failure, FailureKind, TimeoutKind};
