//! Watches who owns what: the provider's own answers must never let two owners write.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::history::{EventKind, decode_batch};
use durable_core::id::{ActivityRowId, Epoch, FlushId, InstanceId};
use durable_core::provider::{
    ActivityOutcome, ActivityRetry, Claimed, ClaimedActivity, CommitBatch, CommitReceipt, ErrorKind,
    ProviderResult, RunCommit,
};

use crate::effects::Effects;

#[derive(Debug, Default)]
struct Seen {
    runs: BTreeMap<InstanceId, Epoch>,
    rows: BTreeMap<ActivityRowId, Epoch>,
    flushes: HashSet<FlushId>,
    violations: Vec<String>,
    effects: Option<Effects>,
}

/// Newest claims, and every write that was accepted although a newer one was there.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners {
    seen: Arc<Mutex<Seen>>,
}

impl Owners {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.seen().violations.clone()
    }

    pub(super) fn watch(&self, effects: &Effects) {
        self.seen().effects = Some(effects.clone());
    }

    pub(super) fn runs_claimed(&self, answer: &ProviderResult<Claimed>) {
        let Ok(claimed) = answer else { return };
        let mut seen = self.seen();
        for run in &claimed.runs {
            let before = seen.runs.insert(run.instance, run.epoch);
            if before.is_some_and(|before| before >= run.epoch) {
                seen.violations
                    .push(format!("instance {} was claimed twice in epoch {}", run.instance, run.epoch));
            }
        }
    }

    pub(super) fn committed(
        &self,
        batch: &CommitBatch,
        answer: &ProviderResult<Vec<ProviderResult<CommitReceipt>>>,
    ) {
        let Ok(answers) = answer else { return };
        let mut seen = self.seen();
        for (commit, answer) in batch.commits.iter().zip(answers) {
            if let Err(error) = answer
                && error.kind() == ErrorKind::Invalid
            {
                seen.violations
                    .push(format!("a commit of instance {} made no sense: {error}", commit.instance));
            }
            // A repeated flush that finds itself writes nothing.
            if answer.is_err() || !seen.flushes.insert(commit.flush) {
                continue;
            }
            if let Some(effects) = &seen.effects {
                tell_scheduled(effects, commit);
            }
            if seen.runs.get(&commit.instance) != Some(&commit.epoch) {
                let text = format!(
                    "a commit of instance {} in epoch {} was accepted, its owner has epoch {:?}",
                    commit.instance,
                    commit.epoch,
                    seen.runs.get(&commit.instance)
                );
                seen.violations.push(text);
            }
        }
    }

    pub(super) fn rows_claimed(&self, answer: &ProviderResult<Vec<ClaimedActivity>>) {
        let Ok(claimed) = answer else { return };
        let mut seen = self.seen();
        for row in claimed {
            let before = seen.rows.insert(row.row, row.epoch);
            if before.is_some_and(|before| before >= row.epoch) {
                seen.violations
                    .push(format!("activity row {} was claimed twice in epoch {}", row.row, row.epoch));
            }
        }
    }

    pub(super) fn settled<T>(
        &self,
        outcomes: &[ActivityOutcome],
        answer: &ProviderResult<Vec<ProviderResult<T>>>,
    ) {
        self.row_writes(outcomes.iter().map(|outcome| (outcome.row, outcome.epoch)), answer);
    }

    pub(super) fn given_back<T>(
        &self,
        retries: &[ActivityRetry],
        answer: &ProviderResult<Vec<ProviderResult<T>>>,
    ) {
        self.row_writes(retries.iter().map(|retry| (retry.row, retry.epoch)), answer);
    }

    fn row_writes<T>(
        &self,
        writes: impl Iterator<Item = (ActivityRowId, Epoch)>,
        answer: &ProviderResult<Vec<ProviderResult<T>>>,
    ) {
        let Ok(answers) = answer else { return };
        let mut seen = self.seen();
        for ((row, epoch), answer) in writes.zip(answers) {
            if answer.is_ok() && seen.rows.get(&row) != Some(&epoch) {
                seen.violations
                    .push(format!("an outcome of activity row {row} in epoch {epoch} was accepted late"));
            }
        }
    }
}

fn tell_scheduled(effects: &Effects, commit: &RunCommit) {
    for row in &commit.history {
        for event in decode_batch(row).unwrap_or_default() {
            if let EventKind::ActivityTaskScheduled { id, .. } = event.kind {
                effects.scheduled(commit.run_id, id);
            }
        }
    }
}
