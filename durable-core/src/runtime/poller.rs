//! Finds work: polls, sweeps what is due or expired, claims what there is room for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedSender;

use super::message::Message;
use super::ownership_claim::tell;
use super::rows::Rows;
use super::shared::Shared;
use crate::limits::{
    CLAIMS_BEFORE_ISOLATION, CLAIMS_WITHOUT_PROGRESS_MAX, LOST_BEFORE_ISOLATION, POLL_INTERVAL,
};
use crate::provider::{
    ActivityClaim, ClaimedRun, PollHint, PollParams, ProviderResult, SweepParams, WorkflowClaim,
};

/// Runs claimed in one statement at most.
const CLAIM_MAX: usize = 128;
/// Activity rows claimed in one statement at most.
const ROWS_MAX: usize = 64;
/// Rows changed by one sweep at most.
const SWEEP_MAX: u32 = 512;

/// One worker's poller.
pub(super) struct Poller {
    pub(super) shared: Arc<Shared>,
    pub(super) owner: UnboundedSender<Message>,
    pub(super) rows: Arc<Rows>,
}

/// What one round has left.
struct Round {
    /// A claim was full: there may be more.
    more: bool,
    wait: Duration,
}

impl Poller {
    /// Polls until the worker drains.
    pub(super) async fn run(self) {
        let mut failures = 0;
        loop {
            let round = tokio::select! {
                biased;
                () = self.shared.stopped.cancelled() => return,
                round = self.round() => round,
            };
            match round {
                Ok(round) => {
                    failures = 0;
                    if !round.more {
                        tokio::select! {
                            biased;
                            () = self.shared.poll_now.notified() => {}
                            () = self.shared.sleep(round.wait) => {}
                            () = self.shared.draining.cancelled() => {}
                        }
                    }
                }
                Err(error) => {
                    // At most about a poll interval: what failed is most often one call of many.
                    self.shared.back_off("poll", failures.min(5), &error).await;
                    failures += 1;
                }
            }
            if self.shared.draining.is_cancelled() {
                return;
            }
        }
    }

    async fn round(&self) -> ProviderResult<Round> {
        let shared = &self.shared;
        let types = shared.registry.activity_types();
        let hint = shared.provider.poll(PollParams {
            incarnation: shared.incarnation,
            queues: vec![shared.queue.clone()],
            activity_types: types.clone(),
            now: shared.now_override(),
        });
        let hint = hint.await?;
        shared.saw_time(hint.now);
        let (mut runs, mut activities) = (hint.runnable, hint.activities);
        let sweep = SweepParams { limit: SWEEP_MAX, now: shared.now_override() };
        if hint.expired {
            let report = shared.provider.lease_reap(sweep).await?;
            tracing::info!(
                instances = report.instances,
                activities = report.activities,
                "freed expired claims"
            );
            runs |= report.instances > 0;
            activities |= report.activities > 0;
        }
        if hint.due {
            runs |= shared.provider.due_sweep(sweep).await?.instances > 0;
        }
        if hint.inbox {
            for instance in shared.provider.inbox_pending(shared.incarnation).await? {
                tell(&self.owner, Message::InboxPending(instance));
            }
        }
        let mut more = false;
        if runs {
            more |= self.claim_runs().await?;
        }
        if activities {
            more |= self.claim_rows(types).await?;
        }
        Ok(Round { more, wait: wait(&hint) })
    }

    /// Claims runs; tells whether there may be more.
    async fn claim_runs(&self) -> ProviderResult<bool> {
        let shared = &self.shared;
        let room = shared.max_runs.saturating_sub(shared.owned.load(Ordering::Acquire)).min(CLAIM_MAX);
        if room == 0 || shared.draining.is_cancelled() || shared.gate.is_isolating() {
            return Ok(false);
        }
        let claim = WorkflowClaim {
            incarnation: shared.incarnation,
            queue: shared.queue.clone(),
            limit: u32::try_from(room).unwrap_or(u32::MAX),
            lease: shared.lease,
            max_claims: CLAIMS_WITHOUT_PROGRESS_MAX,
            isolate_at: CLAIMS_BEFORE_ISOLATION,
            now: shared.now_override(),
        };
        let claimed = shared.provider.workflow_claim(claim).await?;
        shared.saw_time(claimed.now);
        for instance in claimed.dead_lettered {
            tracing::error!(%instance, "given up after {CLAIMS_WITHOUT_PROGRESS_MAX} claims without progress");
            shared.wakeups.closed(instance, None);
        }
        let full = claimed.runs.len() == room;
        if !claimed.runs.is_empty() {
            // Counted at once, so that the next round does not claim beyond the room.
            shared.owned.fetch_add(claimed.runs.len(), Ordering::AcqRel);
            let suspicion = |run: &ClaimedRun| {
                // With this claim.
                (run.claims_without_progress > CLAIMS_BEFORE_ISOLATION).then(|| shared.gate.suspect())
            };
            let runs = claimed.runs.into_iter().map(|run| (suspicion(&run), run));
            tell(&self.owner, Message::Claimed(runs.map(|(suspicion, run)| (run, suspicion)).collect()));
        }
        Ok(full)
    }

    /// Claims activity rows for which slots are free; tells whether there may be more.
    async fn claim_rows(&self, types: Vec<String>) -> ProviderResult<bool> {
        let shared = &self.shared;
        if shared.gate.is_isolating() {
            return Ok(false);
        }
        let slots: Vec<OwnedSemaphorePermit> =
            std::iter::from_fn(|| Arc::clone(&shared.slots).try_acquire_owned().ok())
                .take(ROWS_MAX)
                .collect();
        if slots.is_empty() || shared.draining.is_cancelled() {
            return Ok(false);
        }
        let claim = ActivityClaim {
            incarnation: shared.incarnation,
            queue: shared.queue.clone(),
            types,
            limit: u32::try_from(slots.len()).unwrap_or(u32::MAX),
            lease: shared.lease,
            isolate_at: LOST_BEFORE_ISOLATION,
            now: shared.now_override(),
        };
        let claimed = shared.provider.activity_claim(claim).await?;
        let full = claimed.len() == slots.len();
        for (row, slot) in claimed.into_iter().zip(slots) {
            let suspicion = (row.lost >= LOST_BEFORE_ISOLATION).then(|| shared.gate.suspect());
            self.rows.run(row, slot, suspicion);
        }
        Ok(full)
    }
}

/// Until the next thing is due; a poll is the floor.
fn wait(hint: &PollHint) -> Duration {
    let due = hint.next_due.filter(|due| *due > hint.now).map(|due| due.since(hint.now));
    due.map_or(POLL_INTERVAL, |due| due.min(POLL_INTERVAL))
}
