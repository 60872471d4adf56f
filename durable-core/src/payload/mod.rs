//! Payloads: the bytes of inputs, results and markers, with a tag that says how to read them.

mod data;
mod hash;

use std::fmt;

use base64::Engine as _;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::data::{DataError, DurableData, decode, encode};
pub(crate) use self::hash::derive;
pub use self::hash::{argument_digest, keyed_hash};
use crate::limits::PAYLOAD_MAX_BYTES;

/// How the bytes of a [`Payload`] are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8 JSON.
    Json,
    /// Raw bytes of the user's.
    Bytes,
}

/// Bytes and their encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// How to read `bytes`.
    pub encoding: Encoding,
    /// The encoded value.
    pub bytes: Bytes,
}

impl Payload {
    /// The JSON value `null`.
    pub fn null() -> Self {
        Self { encoding: Encoding::Json, bytes: Bytes::from_static(b"null") }
    }

    /// Refuses a payload over 2 MiB; `what` names it in the error.
    pub fn check_size(self, what: &str) -> Result<Self, DataError> {
        if self.bytes.len() > PAYLOAD_MAX_BYTES {
            return Err(DataError::too_large(what, self.bytes.len()));
        }
        Ok(self)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            Encoding::Json if self.bytes.len() <= 256 => f.write_str(&String::from_utf8_lossy(&self.bytes)),
            encoding => write!(f, "<{} bytes of {encoding:?}>", self.bytes.len()),
        }
    }
}

// In a stored event JSON stands inline and readable, anything else as base64. The tag is the field's name.
#[derive(Serialize)]
enum StoredRef<'a> {
    #[serde(rename = "json")]
    Json(&'a RawValue),
    #[serde(rename = "bytes")]
    Bytes(String),
}

#[derive(Deserialize)]
enum Stored {
    #[serde(rename = "json")]
    Json(Box<RawValue>),
    #[serde(rename = "bytes")]
    Bytes(String),
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        match self.encoding {
            Encoding::Json => {
                let json: &RawValue = serde_json::from_slice(&self.bytes).map_err(S::Error::custom)?;
                StoredRef::Json(json).serialize(serializer)
            }
            Encoding::Bytes => {
                let text = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
                StoredRef::Bytes(text).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Json(raw) => {
                Self { encoding: Encoding::Json, bytes: Bytes::from(Box::<str>::from(raw).into_string()) }
            }
            Stored::Bytes(text) => {
                let bytes =
                    base64::engine::general_purpose::STANDARD.decode(text).map_err(D::Error::custom)?;
                Self { encoding: Encoding::Bytes, bytes: bytes.into() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_payloads_come_back_byte_for_byte() {
        for payload in [
            Payload { encoding: Encoding::Json, bytes: Bytes::from_static(b"{\"b\":1,\"a\":\"\\u0000\"}") },
            Payload { encoding: Encoding::Bytes, bytes: Bytes::from_static(&[0, 255, 1]) },
        ] {
            let text = serde_json::to_string(&payload).unwrap();
            assert_eq!(serde_json::from_str::<Payload>(&text).unwrap(), payload, "{text}");
        }
    }
}
