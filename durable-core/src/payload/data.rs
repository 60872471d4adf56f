//! What may travel through history: [`DurableData`], and its JSON encoding.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Encoding, Payload};
use crate::limits::PAYLOAD_MAX_BYTES;

/// A value that may be recorded in history: plain data that serde can write and read back.
///
/// Implemented for every `T: Serialize + DeserializeOwned + 'static`. References, handles, locks and
/// pointers are not data: what they point at would not be there on replay.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded in a workflow's history",
    label = "not plain serializable data",
    note = "arguments, results and errors must implement `serde::Serialize` and `serde::de::DeserializeOwned` and own their data",
    note = "give services and connections to activities as worker state: `worker().state(..)` and `ctx.state::<T>()`"
)]
pub trait DurableData: Serialize + DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + 'static> DurableData for T {}

/// A value that could not be encoded, decoded, or is too large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// serde refused to write the value.
    #[error(
        "{what} cannot be encoded as JSON: {reason}; make every part of its type serializable (map keys must be text or numbers)"
    )]
    Encode {
        /// What the value is, e.g. ``input of activity `ship` ``.
        what: String,
        /// serde's words.
        reason: String,
    },
    /// The recorded bytes do not fit the type.
    #[error(
        "{what} cannot be decoded: {reason}; a changed type must still read what older code wrote (new fields optional or with a default)"
    )]
    Decode {
        /// What the value is.
        what: String,
        /// serde's words.
        reason: String,
    },
    /// The value is over the payload limit.
    #[error(
        "{what} has {size} bytes, the limit is {PAYLOAD_MAX_BYTES} (2 MiB); store large data elsewhere and pass its address"
    )]
    TooLarge {
        /// What the value is.
        what: String,
        /// Its encoded size in bytes.
        size: usize,
    },
}

impl DataError {
    pub(super) fn too_large(what: &str, size: usize) -> Self {
        Self::TooLarge { what: what.to_owned(), size }
    }
}

/// Encodes `value` as JSON and checks the payload limit; `what` names it in errors.
pub fn encode<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<Payload, DataError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| DataError::Encode { what: what.to_owned(), reason: error.to_string() })?;
    Payload { encoding: Encoding::Json, bytes: Bytes::from(bytes) }.check_size(what)
}

/// Decodes a JSON payload; `what` names it in errors.
pub fn decode<T: DeserializeOwned>(what: &str, payload: &Payload) -> Result<T, DataError> {
    let fail = |reason: String| DataError::Decode { what: what.to_owned(), reason };
    match payload.encoding {
        Encoding::Json => serde_json::from_slice(&payload.bytes).map_err(|error| fail(error.to_string())),
        Encoding::Bytes => Err(fail("it is raw bytes, not JSON".to_owned())),
    }
}
