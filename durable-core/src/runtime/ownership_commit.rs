//! From a finished turn to effects: build the commit, wait for its proof, then start what it allows.

use super::attempts::Task;
use super::notify::Closed;
use super::ownership::{AfterCommit, OwnedRun, Ownership, Phase, encoded};
use crate::client::RunOutcome;
use crate::engine::OpenActivity;
use crate::history::{Event, EventKind, Placement, encode_events};
use crate::id::{CommandId, Epoch, EventId, InboxSeq, InstanceId};
use crate::limits::{BLOCKED_RETRY_FIRST, BLOCKED_RETRY_MAX};
use crate::provider::{
    ActivityChange, BlockChange, CommitReceipt, Disposition, ErrorKind, NextRunStart, ProviderResult,
    RunCommit, Status,
};
use crate::workflow::{NextRun, TurnOutput};

/// What a commit holds besides what the run itself keeps.
#[derive(Default)]
pub(super) struct CommitParts {
    /// Events of a turn, numbered.
    pub(super) events: Vec<Event>,
    /// Events without a turn, to be numbered.
    pub(super) kinds: Vec<EventKind>,
    pub(super) progress: bool,
    pub(super) scheduled: Vec<OpenActivity>,
    pub(super) cancelled: Vec<CommandId>,
    pub(super) close: Option<Disposition>,
}

impl Ownership {
    /// A turn ran: it is committed at once.
    pub(super) fn commit_turn(&mut self, run: &mut OwnedRun, output: TurnOutput) {
        run.has_tail = false;
        run.next_timer = output.next_timer;
        run.clear_block |= run.blocked_attempts > 0;
        run.blocked_attempts = 0;
        let close = match end_of(output.closed.as_ref(), output.next_run.as_deref()) {
            Ok(close) => close,
            Err(reason) => {
                self.host.evict(run.instance);
                return run.fail(reason, true);
            }
        };
        let parts = CommitParts {
            events: output.events,
            progress: true,
            scheduled: output.scheduled,
            cancelled: output.cancelled,
            close,
            ..CommitParts::default()
        };
        self.commit(run, parts);
    }

    /// Hands a commit to the committer.
    pub(super) fn commit(&mut self, run: &mut OwnedRun, mut parts: CommitParts) {
        let events = self.number(run, &mut parts);
        let history = match encode_events(&events) {
            Ok(history) => history,
            Err(error) => {
                // Nothing of the turn can be stored; what it consumed comes back with the next claim.
                self.host.evict(run.instance);
                run.inputs.clear();
                run.consumed = InboxSeq(0);
                parts = CommitParts::default();
                run.fail(format!("a new event cannot be encoded: {error}"), true);
                Vec::new()
            }
        };
        let closing = parts.close.is_some();
        // Let go of in order with no turn to make: nobody died of it, so its claims are forgiven.
        let lived = self.draining && run.loaded && !run.has_tail;
        let mut tell = Vec::new();
        let mut activities = Vec::new();
        for id in &parts.cancelled {
            tell.extend(run.running.remove(id).map(|local| local.cancel));
            run.ready.retain(|open| open.id != *id);
            run.new_rows.retain(|row| row.command != *id);
            if run.rows.remove(id) {
                activities.push(ActivityChange::Remove(*id));
            }
        }
        let mut start = Vec::new();
        for open in std::mem::take(&mut parts.scheduled) {
            if open.placement == Placement::Local
                && self.shared.registry.activity(&open.activity_type).is_some()
            {
                start.push(open);
            } else {
                self.warn_unknown(run, &open.activity_type);
                run.make_row(&open, 0, 0, None, None);
            }
        }
        if closing {
            run.new_rows.clear();
        }
        activities.extend(run.new_rows.drain(..).map(ActivityChange::Insert));
        let block = self.block_change(run);
        let disposition = parts.close.take().unwrap_or_else(|| self.disposition(run, !start.is_empty()));
        let commit = RunCommit {
            instance: run.instance,
            run_id: run.identity.run_id,
            epoch: run.epoch,
            expected_next: run.next_event,
            flush: self.shared.ids.flush(),
            history,
            consumed_through: run.consumed,
            activities,
            progress: (parts.progress || lived) && run.failed.is_none(),
            block: block.clone(),
            disposition: disposition.clone(),
        };
        let wrote_block = block != BlockChange::Keep;
        run.phase = Phase::Committing(AfterCommit { start, tell, wrote_block, disposition });
        if self.commits.send(commit).is_err() {
            tracing::debug!(instance = %run.instance, "the committer has ended with the worker");
        }
    }

    /// Another worker may have the activity, so the run waits; if none has, nothing else would say why. Told once
    /// for each type: a worker may send many of them elsewhere, as it should.
    fn warn_unknown(&mut self, run: &OwnedRun, activity: &str) {
        if self.shared.registry.activity(activity).is_none() && self.told_unknown.insert(activity.to_owned())
        {
            tracing::warn!(
                workflow_id = %run.identity.workflow_id,
                activity,
                queue = %run.queue,
                "this worker does not have the activity: it waits for one that does; register it with \
                 `.activity::<..>()`"
            );
        }
    }

    fn number(&self, run: &mut OwnedRun, parts: &mut CommitParts) -> Vec<Event> {
        let mut events = std::mem::take(&mut parts.events);
        let last = events.last().map_or(run.last_event_at, |event| event.at);
        let at = self.shared.database_now().max(last);
        let first = events.last().map_or(run.next_event, |event| event.id.next());
        let kinds = std::mem::take(&mut parts.kinds);
        events.extend((first.0..).zip(kinds).map(|(id, kind)| Event { id: EventId(id), at, kind }));
        run.last_event_at = events.last().map_or(last, |event| event.at);
        events
    }

    fn block_change(&self, run: &OwnedRun) -> BlockChange {
        match &run.failed {
            Some(failed) if !failed.stored => {
                BlockChange::Set { reason: failed.reason.clone(), build: self.shared.build.clone() }
            }
            None if run.clear_block && run.blocked_attempts == 0 => BlockChange::Clear,
            _ => BlockChange::Keep,
        }
    }

    /// Kept while local work is outstanding.
    fn disposition(&self, run: &OwnedRun, starts: bool) -> Disposition {
        if let Some(failed) = &run.failed {
            if !run.running.is_empty() || !run.inputs.is_empty() {
                return Disposition::Keep;
            }
            let delay = BLOCKED_RETRY_FIRST.saturating_mul(1 << run.blocked_attempts.min(16));
            return Disposition::Block { retry_after: failed.retry.then(|| delay.min(BLOCKED_RETRY_MAX)) };
        }
        let due = run.next_timer.is_some_and(|at| at <= self.shared.database_now());
        let work = starts
            || !run.ready.is_empty()
            || !run.inputs.is_empty()
            || run.has_tail
            || !run.inbox.is_empty()
            || due
            || !run.loaded;
        let keep = if self.draining { !run.running.is_empty() } else { work || !run.running.is_empty() };
        match (keep, work) {
            (true, _) => Disposition::Keep,
            (false, true) => Disposition::Yield,
            (false, false) => Disposition::Wait { wake_at: run.next_timer },
        }
    }

    /// The committer has answered. Only a proven commit has effects.
    pub(super) fn committed(
        &mut self,
        instance: InstanceId,
        epoch: Epoch,
        answer: ProviderResult<CommitReceipt>,
    ) {
        let receipt = match answer {
            Ok(receipt) => receipt,
            Err(error) => {
                if self.runs.get(&instance).is_some_and(|run| run.epoch == epoch) {
                    if error.kind() != ErrorKind::LeaseLost {
                        tracing::error!(%instance, %error, "a commit was refused; the run is dropped from memory");
                    }
                    self.forget(instance, "its commit is not proven");
                }
                return;
            }
        };
        let Some(mut run) = self.runs.remove(&instance) else { return };
        if run.epoch != epoch {
            self.runs.insert(instance, run);
            return;
        }
        let after = match std::mem::replace(&mut run.phase, Phase::Idle) {
            Phase::Committing(after) => after,
            other => {
                run.phase = other;
                self.runs.insert(instance, run);
                return;
            }
        };
        run.pass = None;
        after.tell.iter().for_each(tokio_util::sync::CancellationToken::cancel);
        if after.disposition != Disposition::Keep {
            self.tell_end(instance, after.disposition);
            if receipt.status == Status::Runnable {
                self.shared.wakeups.wake_pollers();
            }
            return self.released(run);
        }
        run.next_event = receipt.next_event;
        run.owner_lost = false;
        if run.failed.is_none() {
            run.suspicion = None;
        }
        if after.wrote_block {
            run.clear_block = false;
            if let Some(failed) = &mut run.failed {
                failed.stored = true;
            }
        }
        run.ready.extend(after.start);
        if !self.draining && run.failed.is_none() {
            for open in std::mem::take(&mut run.ready) {
                self.start_local(&mut run, open);
            }
        }
        if receipt.inbox_seq > run.seen {
            self.read_inbox(&mut run);
        }
        self.runs.insert(instance, run);
        self.with(instance, epoch, |_, _| {});
    }
}

impl Ownership {
    /// A run is over, and that is stored.
    fn tell_end(&self, instance: InstanceId, disposition: Disposition) {
        match disposition {
            Disposition::Close { status, outcome } => {
                tracing::debug!(%instance, %status, "run closed");
                self.shared.wakeups.closed(instance, Some(Closed { status, outcome }));
            }
            Disposition::Continue { next, .. } => {
                tracing::debug!(%instance, next_run = %next.run_id, "run continued as new");
            }
            _ => {}
        }
    }
}

/// What the end of a run means for the instance.
fn end_of(closed: Option<&EventKind>, next: Option<&NextRun>) -> Result<Option<Disposition>, String> {
    match (closed, next) {
        (None, _) => Ok(None),
        (Some(_), Some(next)) => go_on(next).map(Some),
        (Some(event), None) => close(event).map(Some),
    }
}

/// The instance goes on in a new run.
fn go_on(next: &NextRun) -> Result<Disposition, String> {
    let history = encode_events(&next.events)
        .map_err(|error| format!("the first events of the next run cannot be encoded: {error}"))?;
    Ok(Disposition::Continue {
        outcome: encoded(&RunOutcome::ContinuedAsNew(next.run_id))?,
        next: NextRunStart { run_id: next.run_id, seed: next.seed, history },
    })
}

/// What a terminal event means for the instance.
fn close(event: &EventKind) -> Result<Disposition, String> {
    let (status, outcome) = match event {
        EventKind::WorkflowExecutionCompleted { result, .. } => {
            (Status::Completed, RunOutcome::Completed(result.clone()))
        }
        EventKind::WorkflowExecutionFailed { failure } => {
            (Status::Failed, RunOutcome::Failed(failure.clone()))
        }
        EventKind::WorkflowExecutionCanceled { failure } => {
            (Status::Canceled, RunOutcome::Canceled(failure.clone()))
        }
        other => return Err(format!("{} does not end a run", other.name())),
    };
    Ok(Disposition::Close { status, outcome: encoded(&outcome)? })
}

impl OwnedRun {
    /// A durable row with the next commit.
    pub(super) fn make_row(
        &mut self,
        open: &OpenActivity,
        attempts: u32,
        lost: u32,
        delay: Option<std::time::Duration>,
        last_failure: Option<bytes::Bytes>,
    ) {
        let Some(seed) = self.seed else {
            return self.fail("an activity is open before its run is loaded".to_owned(), true);
        };
        let task = Task::of(open, seed);
        let delay = delay.unwrap_or_else(|| match attempts {
            0 => std::time::Duration::ZERO,
            made => task.options.retry.jittered_delay(made, task.jitter),
        });
        let task = match encoded(&task) {
            Ok(task) => task,
            Err(reason) => {
                return self.fail(format!("activity {} cannot be encoded: {reason}", open.key), true);
            }
        };
        self.rows.insert(open.id);
        self.new_rows.push(crate::provider::NewActivityRow {
            command: open.id,
            activity_type: open.activity_type.clone(),
            queue: self.queue.clone(),
            priority: 5,
            task,
            attempts,
            lost,
            delay,
            deadline: open.deadline(),
            last_failure,
        });
    }
}
