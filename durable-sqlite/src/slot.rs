//! Liveness: one OS file lock per worker slot, beside the database. The system drops it when the process
//! dies, however it dies; a free lock therefore proves the last holder dead.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::id::{Incarnation, SlotName};
use durable_core::provider::check::slot_taken;
use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use sha2::{Digest, Sha256};

/// The liveness locks that this provider holds.
#[derive(Debug)]
pub(crate) struct Slots {
    database: PathBuf,
    held: Mutex<HashMap<Incarnation, SlotLock>>,
}

/// A lock that was taken; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct SlotLock(File);

impl Drop for SlotLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process that this one is just starting holds copies of all open files
        // until it runs its program, and with them the lock.
        let _ = self.0.unlock();
    }
}

impl Slots {
    /// Locks live beside this file.
    pub(crate) fn beside(database: &Path) -> Self {
        Self { database: database.to_owned(), held: Mutex::default() }
    }

    /// Takes the named slot, or the first free of `worker-1`, `worker-2`, …
    pub(crate) fn take(&self, slot: Option<&SlotName>) -> ProviderResult<(SlotName, SlotLock)> {
        if let Some(slot) = slot {
            return match self.try_lock(slot)? {
                Some(lock) => Ok((slot.clone(), lock)),
                None => Err(slot_taken(slot.as_str())),
            };
        }
        for number in 1_u32.. {
            let slot = SlotName::new(format!("worker-{number}"))
                .map_err(|error| ProviderError::new(ErrorKind::Invalid, error.to_string()))?;
            if let Some(lock) = self.try_lock(&slot)? {
                return Ok((slot, lock));
            }
        }
        Err(slot_taken("worker-*"))
    }

    /// The lock is the incarnation's until it is released or the process ends.
    pub(crate) fn hold(&self, incarnation: Incarnation, lock: SlotLock) {
        self.held().insert(incarnation, lock);
    }

    /// Drops an incarnation's lock.
    pub(crate) fn release(&self, incarnation: Incarnation) {
        self.held().remove(&incarnation);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Incarnation, SlotLock>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self, slot: &SlotName) -> ProviderResult<Option<SlotLock>> {
        let path = self.path(slot);
        let failed = |error: std::io::Error| {
            let message = format!(
                "the lock file {} of worker slot {:?} cannot be used: {error}; check that the database's directory \
                 is writable and supports file locks",
                path.display(),
                slot.as_str()
            );
            ProviderError::new(ErrorKind::Unavailable, message).with_source(error)
        };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(SlotLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The name in hexadecimal, so that any slot name is a file name; a long one as its digest.
    fn path(&self, slot: &SlotName) -> PathBuf {
        const LONGEST: usize = 64;
        let name = slot.as_str().as_bytes();
        let digest = Sha256::digest(name);
        let (prefix, bytes) = if name.len() <= LONGEST { ("", name) } else { ("sha256-", &digest[..]) };
        let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let mut path = OsString::from(&self.database);
        path.push(format!("-slot-{prefix}{hex}.lock"));
        PathBuf::from(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_given_back_is_free_while_a_child_process_starts() {
        let directory = tempfile::tempdir().unwrap();
        let slots = Slots::beside(&directory.path().join("durable.db"));
        let slot = SlotName::new("blue").unwrap();
        let (_, lock) = slots.take(Some(&slot)).unwrap();
        // What a child has between its fork and its exec.
        let inherited = lock.0.try_clone().unwrap();
        let incarnation = Incarnation::fresh();
        slots.hold(incarnation, lock);
        assert!(slots.take(Some(&slot)).is_err());
        slots.release(incarnation);
        let (_, never_held) = slots.take(Some(&slot)).unwrap();
        let inherited_too = never_held.0.try_clone().unwrap();
        drop(never_held);
        slots.take(Some(&slot)).unwrap();
        drop((inherited, inherited_too));
    }
}
