//! The ids of the product, each a type of its own, so that two of them cannot be swapped.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::limits::NAME_MAX_BYTES;

/// A name, id or key that breaks the rule of 1 to 255 bytes of UTF-8 without NUL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "{what} {problem}: it must be 1 to {NAME_MAX_BYTES} bytes of UTF-8 without NUL; choose a shorter or cleaner one"
)]
pub struct InvalidName {
    /// Which name it is, e.g. `workflow id`.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// Checks the rule that every name, id and key of the product obeys.
pub fn check_name(what: &'static str, name: &str) -> Result<(), InvalidName> {
    let problem = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > NAME_MAX_BYTES {
        format!("has {} bytes", name.len())
    } else if name.contains('\0') {
        format!("{name:?} holds a NUL")
    } else {
        return Ok(());
    };
    Err(InvalidName { what, problem })
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks the name: 1 to 255 bytes of UTF-8, no NUL.
            pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
                let name = name.into();
                check_name($what, &name)?;
                Ok(Self(name))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// The user's name for one piece of work, unique while it is open.
    WorkflowId, "workflow id"
);
name_type!(
    /// A task queue.
    QueueName, "queue name"
);
name_type!(
    /// The stable name of a worker, from the user.
    SlotName, "worker slot name"
);
name_type!(
    /// The build of a worker: by default a hash of the executable's file.
    BuildId, "build id"
);

impl QueueName {
    /// The queue used where none is named.
    pub fn default_queue() -> Self {
        Self("default".to_owned())
    }
}

macro_rules! uuid_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh one, ordered by time (UUID v7).
            pub fn fresh() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_type!(
    /// One execution within an instance.
    RunId
);
uuid_type!(
    /// One start of a worker process under its slot.
    Incarnation
);
uuid_type!(
    /// One commit of one run; a retry after a lost answer keeps it and finds itself.
    FlushId
);
uuid_type!(
    /// One request of a client; a retry after a lost answer keeps it.
    RequestId
);

macro_rules! number_type {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_type!(
    /// One chain of runs under a workflow id: the provider's surrogate key.
    InstanceId, i64
);
number_type!(
    /// Position of an event in its run's history: 1, 2, 3 …
    EventId, u64
);
number_type!(
    /// Sequence number of an activity, timer or child in its run: 1, 2, 3 …, drawn at first poll.
    CommandId, u64
);
number_type!(
    /// Rises at each claim; every write of an owner carries it.
    Epoch, i64
);
number_type!(
    /// Position of a message in an instance's inbox; 0 is before the first.
    InboxSeq, i64
);
number_type!(
    /// The provider's surrogate key of a durable activity row.
    ActivityRowId, i64
);

impl EventId {
    /// The first event of every history.
    pub const FIRST: Self = Self(1);

    /// The id after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The structural name of a command, e.g. `join#1.0/ship#1`: scope, name, and how many of that name
/// the scope built before. An edit inside one branch shifts no key of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandKey(pub String);

impl fmt::Display for CommandKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What everything unique or random in a run derives from; recorded in its first event.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdSeed(pub Uuid);

impl IdSeed {
    /// A fresh, random seed.
    pub fn fresh() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Debug for IdSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdSeed({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_1_to_255_bytes_without_nul() {
        for good in ["a", "a/b", "a b", "%", "'", "🦀", &"x".repeat(255)] {
            assert_eq!(WorkflowId::new(good).unwrap().as_str(), good);
        }
        for (bad, why) in [("", "is empty"), ("a\0b", "holds a NUL"), (&"x".repeat(256), "has 256 bytes")] {
            let error = WorkflowId::new(bad).unwrap_err().to_string();
            assert!(error.starts_with("workflow id ") && error.contains(why), "{error}");
        }
    }
}
