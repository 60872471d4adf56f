//! Hashes of payloads over canonical JSON (object keys sorted), so that field order never matters.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Encoding, Payload};
use crate::id::IdSeed;

trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Sha256 {
    fn put(&mut self, bytes: &[u8]) {
        Digest::update(self, bytes);
    }
}

impl Sink for Hmac<Sha256> {
    fn put(&mut self, bytes: &[u8]) {
        Mac::update(self, bytes);
    }
}

fn feed(sink: &mut impl Sink, payload: &Payload) {
    match payload.encoding {
        Encoding::Json => match serde_json::from_slice::<Value>(&payload.bytes) {
            Ok(value) => feed_value(sink, &value),
            Err(_) => sink.put(&payload.bytes),
        },
        Encoding::Bytes => sink.put(&payload.bytes),
    }
}

fn feed_value(sink: &mut impl Sink, value: &Value) {
    match value {
        Value::Object(map) => {
            // Sorted here, not by serde_json: another crate may switch its map to insertion order.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            sink.put(b"{");
            for (key, value) in entries {
                sink.put(Value::from(key.as_str()).to_string().as_bytes());
                sink.put(b":");
                feed_value(sink, value);
                sink.put(b",");
            }
            sink.put(b"}");
        }
        Value::Array(items) => {
            sink.put(b"[");
            for item in items {
                feed_value(sink, item);
                sink.put(b",");
            }
            sink.put(b"]");
        }
        scalar => sink.put(scalar.to_string().as_bytes()),
    }
}

/// The hash stored beside a command, keyed by the run's id seed so that equal inputs of two runs differ.
pub fn keyed_hash(seed: IdSeed, payload: &Payload) -> u64 {
    let mut mac = keyed(seed);
    feed(&mut mac, payload);
    let bytes = mac.finalize().into_bytes();
    u64::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// The digest by which a second start of a workflow id tells whether it asks for the same work.
pub fn argument_digest(payload: &Payload) -> [u8; 32] {
    let mut hash = Sha256::new();
    feed(&mut hash, payload);
    hash.finalize().into()
}

/// 32 bytes derived from a run's seed and a label; equal on every replay.
pub(crate) fn derive(seed: IdSeed, label: &str) -> [u8; 32] {
    let mut mac = keyed(seed);
    Mac::update(&mut mac, label.as_bytes());
    mac.finalize().into_bytes().into()
}

#[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
fn keyed(seed: IdSeed) -> Hmac<Sha256> {
    Hmac::new_from_slice(seed.0.as_bytes()).expect("any key length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn json(text: &'static str) -> Payload {
        Payload { encoding: Encoding::Json, bytes: Bytes::from_static(text.as_bytes()) }
    }

    #[test]
    fn hashes_ignore_key_order_and_nothing_else() {
        let seed = IdSeed(uuid::Uuid::from_u128(7));
        let one = keyed_hash(seed, &json(r#"{"a":1,"b":[1,{"d":null,"c":"x"}]}"#));
        assert_eq!(one, keyed_hash(seed, &json(r#"{ "b": [1, {"c":"x","d":null}], "a": 1 }"#)));
        assert_ne!(one, keyed_hash(seed, &json(r#"{"a":1,"b":[{"d":null,"c":"x"},1]}"#)));
        assert_ne!(one, keyed_hash(IdSeed(uuid::Uuid::from_u128(8)), &json(r#"{"a":1}"#)));
        assert_ne!(argument_digest(&json(r#"["ab"]"#)), argument_digest(&json(r#"["a","b"]"#)));
    }
}
