//! The stored form of history: one row per committed batch, split at event boundaries above 1 MiB.
//!
//! A batch is one JSON object `{"format":1,"flags":0,"events":[…]}`. The format version and the engine
//! flags are a promise: a change needs a golden history and a line in the CHANGELOG.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::event::Event;
use crate::id::EventId;
use crate::limits::HISTORY_ROW_BYTES;

/// The version of the stored form that this build writes.
pub const FORMAT_VERSION: u32 = 1;

/// One row of stored history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedBatch {
    /// Id of the first event in it.
    pub first: EventId,
    /// Id after the last event in it.
    pub next: EventId,
    /// The encoded events.
    pub bytes: Bytes,
}

/// A stored batch that cannot be read. Nothing after it is replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "history row of events {first} to {last} cannot be read at event {at}: {reason}; restore the row, or run the build that wrote it"
)]
pub struct CorruptHistory {
    /// First event id that the row claims to hold.
    pub first: EventId,
    /// Last event id that the row claims to hold.
    pub last: EventId,
    /// The event at which reading failed.
    pub at: EventId,
    /// What is wrong.
    pub reason: String,
}

#[derive(Serialize)]
struct Header<'a> {
    format: u32,
    flags: u64,
    events: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct StoredBatch<'a> {
    format: u32,
    #[serde(default)]
    flags: u64,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// Encodes consecutive events into rows of at most about 1 MiB, at least one event each.
///
/// # Errors
///
/// A payload that claims to be JSON and is not.
pub fn encode_events(events: &[Event]) -> Result<Vec<EncodedBatch>, serde_json::Error> {
    let encoded = events
        .iter()
        .map(|event| Ok((event.id, serde_json::value::to_raw_value(event)?)))
        .collect::<Result<Vec<_>, serde_json::Error>>()?;
    let mut rows = Vec::new();
    let mut start = 0;
    while start < encoded.len() {
        let mut end = start + 1;
        let mut size = encoded[start].1.get().len();
        while end < encoded.len() && size + encoded[end].1.get().len() <= HISTORY_ROW_BYTES {
            size += encoded[end].1.get().len();
            end += 1;
        }
        rows.push(encode_row(&encoded[start..end])?);
        start = end;
    }
    Ok(rows)
}

fn encode_row(events: &[(EventId, Box<RawValue>)]) -> Result<EncodedBatch, serde_json::Error> {
    let header =
        Header { format: FORMAT_VERSION, flags: 0, events: events.iter().map(|(_, raw)| &**raw).collect() };
    Ok(EncodedBatch {
        first: events[0].0,
        next: events[events.len() - 1].0.next(),
        bytes: serde_json::to_vec(&header)?.into(),
    })
}

/// Decodes one row and checks that it holds exactly the events that it claims.
pub fn decode_batch(batch: &EncodedBatch) -> Result<Vec<Event>, CorruptHistory> {
    let corrupt = |at: EventId, reason: String| CorruptHistory {
        first: batch.first,
        last: EventId(batch.next.0.saturating_sub(1)),
        at,
        reason,
    };
    let stored: StoredBatch<'_> =
        serde_json::from_slice(&batch.bytes).map_err(|error| corrupt(batch.first, error.to_string()))?;
    if stored.format != FORMAT_VERSION {
        let reason = format!("its format is {}, this build reads {FORMAT_VERSION}", stored.format);
        return Err(corrupt(batch.first, reason));
    }
    if stored.flags != 0 {
        let reason = format!("it needs engine flags {:#x} that this build does not know", stored.flags);
        return Err(corrupt(batch.first, reason));
    }
    let mut events = Vec::with_capacity(stored.events.len());
    let mut expected = batch.first;
    for raw in stored.events {
        let event: Event =
            serde_json::from_str(raw.get()).map_err(|error| corrupt(expected, error.to_string()))?;
        if event.id != expected {
            return Err(corrupt(expected, format!("event {} stands in its place", event.id)));
        }
        expected = expected.next();
        events.push(event);
    }
    if expected != batch.next {
        return Err(corrupt(expected, "the row ends here".to_owned()));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::EventKind;
    use crate::id::CommandId;
    use crate::payload::{Encoding, Payload};
    use crate::time::Timestamp;

    fn result(id: u64, size: usize) -> Event {
        let text = format!("\"{}\"", "x".repeat(size));
        Event {
            id: EventId(id),
            at: Timestamp::from_micros(9),
            kind: EventKind::ActivityTaskCompleted {
                id: CommandId(id),
                attempt: 1,
                result: Payload { encoding: Encoding::Json, bytes: text.into() },
            },
        }
    }

    #[test]
    fn rows_split_at_event_boundaries_above_one_mebibyte() {
        let events = [result(4, 700_000), result(5, 200_000), result(6, 200_000), result(7, 2_000_000)];
        let rows = encode_events(&events).unwrap();
        let ranges: Vec<_> = rows.iter().map(|row| (row.first.0, row.next.0)).collect();
        assert_eq!(ranges, [(4, 6), (6, 7), (7, 8)]);
        let back: Vec<Event> = rows.iter().flat_map(|row| decode_batch(row).unwrap()).collect();
        assert_eq!(back, events);
    }

    #[test]
    fn a_damaged_row_names_the_event() {
        let mut row = encode_events(&[result(4, 1), result(5, 1)]).unwrap().remove(0);
        let good = row.bytes.clone();
        let text = String::from_utf8(good.to_vec()).unwrap();
        for (bytes, at) in [
            (text.replace("\"id\":5,\"at\"", "\"id\":6,\"at\""), 5),
            (text.replacen("ActivityTaskCompleted", "Unheard", 1), 4),
            (text.replace("\"format\":1", "\"format\":9"), 4),
            (text.replace("\"flags\":0", "\"flags\":4"), 4),
            (text[..text.len() / 2].to_owned(), 4),
        ] {
            row.bytes = bytes.into();
            assert_eq!(decode_batch(&row).unwrap_err().at, EventId(at), "{:?}", row.bytes);
        }
        row.bytes = good;
        row.next = EventId(7);
        assert_eq!(decode_batch(&row).unwrap_err().at, EventId(6));
    }
}
