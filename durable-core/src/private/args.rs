//! Arguments as one JSON object keyed by parameter name (design D1).

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::de::value::Error as ValueError;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use crate::payload::{DataError, DurableData, Encoding, Payload};

/// How one argument is written and read.
///
/// The bound on the type stands at [`arg_codec`] only, so that the macros can state it once, at the
/// user's type: a type that is no data is then one error and not one for each use.
pub struct ArgCodec<T> {
    write: fn(&T, &mut Vec<u8>) -> Result<(), serde_json::Error>,
    read: fn(Option<&RawValue>) -> Result<T, String>,
}

impl<T> fmt::Debug for ArgCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgCodec").finish_non_exhaustive()
    }
}

/// The codec of `T`.
pub const fn arg_codec<T: DurableData>() -> ArgCodec<T> {
    ArgCodec { write: |value, out| serde_json::to_writer(out, value), read: read::<T> }
}

fn read<T: DurableData>(value: Option<&RawValue>) -> Result<T, String> {
    match value {
        Some(value) => serde_json::from_str(value.get()).map_err(|error| error.to_string()),
        None => T::deserialize(Missing).map_err(|error| error.to_string()),
    }
}

/// A missing argument: `None` for an `Option`, so that a new optional parameter breaks no running
/// workflow, and an error for everything else.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom(
            "it is missing; a parameter that older code did not record must be an `Option`",
        ))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Writes the object field by field; the first error stays.
#[derive(Debug)]
pub struct ArgWriter {
    what: &'static str,
    bytes: Vec<u8>,
    error: Option<DataError>,
}

impl ArgWriter {
    /// Begins the object; `what` names the workflow or activity in errors.
    pub fn new(what: &'static str) -> Self {
        Self { what, bytes: vec![b'{'], error: None }
    }

    /// Adds one argument.
    #[must_use]
    pub fn field<T>(mut self, key: &str, value: &T, codec: &ArgCodec<T>) -> Self {
        if self.error.is_some() {
            return self;
        }
        if self.bytes.len() > 1 {
            self.bytes.push(b',');
        }
        let written = serde_json::to_writer(&mut self.bytes, key).and_then(|()| {
            self.bytes.push(b':');
            (codec.write)(value, &mut self.bytes)
        });
        self.error = written
            .err()
            .map(|error| DataError::Encode { what: argument(self.what, key), reason: error.to_string() });
        self
    }

    /// Ends the object and checks the payload limit.
    pub fn finish(mut self) -> Result<Payload, DataError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.bytes.push(b'}');
        Payload { encoding: Encoding::Json, bytes: Bytes::from(self.bytes) }
            .check_size(&format!("input of {}", self.what))
    }
}

/// Reads the object field by field. Keys that no parameter has are ignored: a removed parameter breaks
/// no running workflow.
#[derive(Debug)]
pub struct ArgReader<'a> {
    what: &'static str,
    fields: BTreeMap<String, &'a RawValue>,
}

impl<'a> ArgReader<'a> {
    /// Opens the object; JSON `null` is one without fields.
    pub fn new(what: &'static str, payload: &'a Payload) -> Result<Self, DataError> {
        let fail = |reason: String| DataError::Decode { what: format!("input of {what}"), reason };
        if payload.encoding != Encoding::Json {
            return Err(fail("it is raw bytes, not a JSON object".to_owned()));
        }
        let fields: Option<_> =
            serde_json::from_slice(&payload.bytes).map_err(|error| fail(error.to_string()))?;
        Ok(Self { what, fields: fields.unwrap_or_default() })
    }

    /// Reads one argument.
    pub fn field<T>(&self, key: &str, codec: &ArgCodec<T>) -> Result<T, DataError> {
        (codec.read)(self.fields.get(key).copied())
            .map_err(|reason| DataError::Decode { what: argument(self.what, key), reason })
    }
}

fn argument(what: &str, key: &str) -> String {
    format!("argument `{key}` of {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &'static str) -> Payload {
        Payload { encoding: Encoding::Json, bytes: Bytes::from_static(text.as_bytes()) }
    }

    #[test]
    fn arguments_are_one_object_keyed_by_name_and_come_back() {
        let payload = ArgWriter::new("workflow `w`")
            .field("order", &7_u32, &arg_codec())
            .field("note", &Some("é\"".to_owned()), &arg_codec())
            .finish()
            .unwrap();
        assert_eq!(payload, json("{\"order\":7,\"note\":\"é\\\"\"}"));
        let args = ArgReader::new("workflow `w`", &payload).unwrap();
        assert_eq!(args.field::<u32>("order", &arg_codec()), Ok(7));
        assert_eq!(args.field::<Option<String>>("note", &arg_codec()), Ok(Some("é\"".to_owned())));
    }

    #[test]
    fn no_argument_is_an_empty_object_and_null_is_read_as_one() {
        let empty = ArgWriter::new("workflow `w`").finish().unwrap();
        assert_eq!(empty, json("{}"));
        for payload in [empty, Payload::null()] {
            assert!(ArgReader::new("workflow `w`", &payload).is_ok());
        }
    }

    #[test]
    fn a_missing_option_is_none_and_anything_else_missing_is_named() {
        let payload = json("{\"gone\":1}");
        let args = ArgReader::new("workflow `w`", &payload).unwrap();
        assert_eq!(args.field::<Option<u32>>("added", &arg_codec()), Ok(None));
        let error = args.field::<u32>("added", &arg_codec()).unwrap_err().to_string();
        assert!(
            error.starts_with("argument `added` of workflow `w` cannot be decoded: it is missing"),
            "{error}"
        );
    }

    #[test]
    fn every_bad_input_names_the_workflow_or_the_argument() {
        let array = ArgReader::new("workflow `w`", &json("[1]")).unwrap_err().to_string();
        assert!(array.starts_with("input of workflow `w` cannot be decoded"), "{array}");
        let raw = Payload { encoding: Encoding::Bytes, bytes: Bytes::from_static(b"{}") };
        assert!(ArgReader::new("workflow `w`", &raw).is_err());
        let payload = json("{\"order\":\"seven\"}");
        let args = ArgReader::new("workflow `w`", &payload).unwrap();
        let error = args.field::<u32>("order", &arg_codec()).unwrap_err().to_string();
        assert!(error.starts_with("argument `order` of workflow `w` cannot be decoded"), "{error}");
    }

    #[test]
    fn an_argument_that_serde_refuses_is_named_and_a_too_large_input_too() {
        let odd = BTreeMap::from([((1, 2), 3)]);
        let error = ArgWriter::new("activity `a`")
            .field("pairs", &odd, &arg_codec())
            .field("next", &1_u8, &arg_codec())
            .finish()
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("argument `pairs` of activity `a` cannot be encoded"), "{error}");
        let large = "x".repeat(crate::limits::PAYLOAD_MAX_BYTES);
        let error = ArgWriter::new("activity `a`").field("text", &large, &arg_codec()).finish().unwrap_err();
        assert!(matches!(error, DataError::TooLarge { .. }), "{error}");
    }
}
