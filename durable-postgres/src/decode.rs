//! Stored values as the contract's types, and names as statement parameters.

use durable_core::id::{EventId, QueueName, WorkflowId};
use durable_core::provider::{MessageKind, Status};

use crate::error::{Attempt, corrupt};

/// A workflow id.
pub(crate) fn workflow_id(text: String) -> Attempt<WorkflowId> {
    WorkflowId::new(text).map_err(|error| corrupt(format_args!("a bad name ({error})")))
}

/// A queue.
pub(crate) fn queue(text: String) -> Attempt<QueueName> {
    QueueName::new(text).map_err(|error| corrupt(format_args!("a bad name ({error})")))
}

/// A status.
pub(crate) fn status(code: i16) -> Attempt<Status> {
    Status::from_code(code)
        .ok_or_else(|| corrupt(format_args!("status {code}, which this build does not know")))
}

/// The kind of a message.
pub(crate) fn message_kind(code: i16) -> Attempt<MessageKind> {
    MessageKind::from_code(code)
        .ok_or_else(|| corrupt(format_args!("a message of kind {code}, which this build does not know")))
}

/// An event id.
pub(crate) fn event_id(value: i64) -> Attempt<EventId> {
    unsigned(value).map(EventId)
}

/// A number that is never negative.
pub(crate) fn unsigned<N: TryFrom<i64>>(value: i64) -> Attempt<N> {
    N::try_from(value)
        .map_err(|_| corrupt(format_args!("the number {value} where a small natural one belongs")))
}

/// A number for storage; ids and counts never come near the limit.
pub(crate) fn stored(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A count for an INTEGER column; counts never come near the limit.
pub(crate) fn count(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// Free text: any bytes that were written, shown as well as they can be.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Names to look for. PostgreSQL refuses a text with a NUL, and no stored name has one.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().filter(|name| !name.contains('\0')).map(str::to_owned).collect()
}

/// Items in one statement that joins arrays, at most. A cached plan knows no array's length and joins them by nested
/// loops, whose work grows with the square.
pub(crate) const JOINED_MAX: usize = 64;

/// Splits items into parts of which each holds a key once, keeping their order: a statement that joins an array
/// carries out one item per row, and the contract is that items are carried out one after the other.
pub(crate) fn waves<T, K: std::hash::Hash + Eq>(
    items: Vec<T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<(usize, T)>> {
    let mut seen: std::collections::HashMap<K, usize> = std::collections::HashMap::new();
    let mut waves: Vec<Vec<(usize, T)>> = Vec::new();
    for (place, item) in items.into_iter().enumerate() {
        let turn = seen.entry(key(&item)).or_default();
        if *turn == waves.len() {
            waves.push(Vec::new());
        }
        waves[*turn].push((place, item));
        *turn += 1;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_each_wave_once_and_keeps_its_order() {
        let waves = waves(vec!["a1", "b1", "a2", "c1", "a3", "b2"], |item| item.as_bytes()[0]);
        let shown: Vec<Vec<_>> =
            waves.iter().map(|wave| wave.iter().map(|&(place, item)| (place, item)).collect()).collect();
        assert_eq!(
            shown,
            [vec![(0, "a1"), (1, "b1"), (3, "c1")], vec![(2, "a2"), (5, "b2")], vec![(4, "a3")]]
        );
    }
}
