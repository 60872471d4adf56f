//! The tables.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use durable_core::history::EncodedBatch;
use durable_core::id::{
    BuildId, CommandId, Epoch, EventId, FlushId, InboxSeq, Incarnation, InstanceId, QueueName, RequestId,
    RunId, SlotName, WorkflowId,
};
use durable_core::provider::{InboxMessage, MessageKind, NextRunStart, Status};
use durable_core::time::Timestamp;

/// Everything that is stored.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) instances: BTreeMap<i64, Instance>,
    pub(super) activities: BTreeMap<i64, Activity>,
    pub(super) workers: BTreeMap<Incarnation, Worker>,
    pub(super) last_activity: i64,
}

/// Who claimed something, and for how long it is trusted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) owner: Incarnation,
    pub(super) expires_at: Timestamp,
}

/// A run that went on in a later one.
#[derive(Debug)]
pub(super) struct EarlierRun {
    pub(super) run_id: RunId,
    pub(super) history: Vec<EncodedBatch>,
    pub(super) next_event: EventId,
}

/// One instance with its open or last run, and the runs before it.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) workflow_id: WorkflowId,
    pub(super) workflow_type: String,
    pub(super) input_digest: [u8; 32],
    pub(super) request_id: RequestId,
    pub(super) run_id: RunId,
    pub(super) run_number: u32,
    pub(super) earlier: Vec<EarlierRun>,
    pub(super) queue: QueueName,
    pub(super) priority: u8,
    pub(super) status: Status,
    pub(super) eligible_at: Timestamp,
    pub(super) wake_at: Option<Timestamp>,
    /// There exactly while the status is executing.
    pub(super) claim: Option<Claim>,
    pub(super) epoch: Epoch,
    pub(super) claims_without_progress: u32,
    pub(super) owner_lost: bool,
    pub(super) next_event: EventId,
    pub(super) last_flush: Option<FlushId>,
    pub(super) history: Vec<EncodedBatch>,
    pub(super) inbox_seq: InboxSeq,
    pub(super) inbox_seen: InboxSeq,
    pub(super) inbox: Vec<InboxMessage>,
    pub(super) dedup: BTreeSet<RequestId>,
    pub(super) blocked: Option<(String, BuildId)>,
    pub(super) blocked_attempts: u32,
    pub(super) dead_letter_reason: Option<String>,
    pub(super) outcome: Option<Bytes>,
    pub(super) created_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
}

/// One durable activity row.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "`activity_type` is the contract's word")]
pub(super) struct Activity {
    pub(super) instance: InstanceId,
    pub(super) run_id: RunId,
    pub(super) command: CommandId,
    pub(super) activity_type: String,
    pub(super) queue: QueueName,
    pub(super) priority: u8,
    pub(super) eligible_at: Timestamp,
    pub(super) claim: Option<Claim>,
    pub(super) epoch: Epoch,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) backoff_due: bool,
    pub(super) deadline: Option<Timestamp>,
    pub(super) task: Bytes,
    pub(super) last_failure: Option<Bytes>,
}

/// One registered incarnation. A dead one is kept until its successor has freed its claims.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) slot: SlotName,
    pub(super) alive: bool,
}

impl Claim {
    /// Whether the owner may still write: an expired lease is never revived (G3, G7).
    pub(super) fn holds(&self, owner: Incarnation, now: Timestamp) -> bool {
        self.owner == owner && self.expires_at > now
    }
}

impl State {
    /// The instance of a workflow id: the open one, else the one that closed last.
    pub(super) fn find(&self, workflow_id: &WorkflowId) -> Option<(i64, &Instance)> {
        self.instances
            .iter()
            .filter(|(_, instance)| instance.workflow_id == *workflow_id)
            .max_by_key(|(id, instance)| (instance.status.is_open(), instance.closed_at, **id))
            .map(|(id, instance)| (*id, instance))
    }

    /// Whether there is such a run.
    pub(super) fn knows(&self, run: RunId) -> bool {
        self.instances.values().any(|instance| instance.history_of(run).is_some())
    }

    /// Instances that this worker owns and that have unread messages.
    pub(super) fn pending(&self, owner: Incarnation) -> impl Iterator<Item = InstanceId> + '_ {
        self.instances
            .iter()
            .filter(move |(_, instance)| instance.claim.is_some_and(|claim| claim.owner == owner))
            .filter(|(_, instance)| instance.inbox_seq > instance.inbox_seen)
            .map(|(&id, _)| InstanceId(id))
    }

    /// Puts a message into an open instance's inbox and wakes the instance if it waits (G6); `false` if it
    /// is not open.
    pub(super) fn send(
        &mut self,
        instance: InstanceId,
        kind: MessageKind,
        body: Bytes,
        now: Timestamp,
    ) -> bool {
        let Some(instance) = self.instances.get_mut(&instance.0) else { return false };
        if !instance.status.is_open() {
            return false;
        }
        instance.inbox_seq = InboxSeq(instance.inbox_seq.0 + 1);
        instance.inbox.push(InboxMessage { seq: instance.inbox_seq, kind, body });
        if instance.status == Status::Waiting {
            instance.make_runnable(now);
        }
        true
    }
}

impl Instance {
    /// The history of one of its runs, and the id of the event that would follow it.
    pub(super) fn history_of(&self, run: RunId) -> Option<(&[EncodedBatch], EventId)> {
        if self.run_id == run {
            return Some((&self.history, self.next_event));
        }
        let earlier = self.earlier.iter().find(|earlier| earlier.run_id == run)?;
        Some((&earlier.history, earlier.next_event))
    }

    /// Goes on in a new run; the last one keeps its history.
    pub(super) fn go_on(&mut self, next: &NextRunStart, next_event: EventId) {
        let run_id = std::mem::replace(&mut self.run_id, next.run_id);
        let history = std::mem::replace(&mut self.history, next.history.clone());
        self.earlier.push(EarlierRun { run_id, history, next_event });
        self.run_number += 1;
    }

    /// Releases whatever holds it; a worker may claim it.
    pub(super) fn make_runnable(&mut self, eligible_at: Timestamp) {
        self.status = Status::Runnable;
        self.eligible_at = eligible_at;
        self.wake_at = None;
        self.claim = None;
    }

    /// Its owner is gone.
    pub(super) fn lose_owner(&mut self, now: Timestamp) {
        self.make_runnable(now);
        self.owner_lost = true;
    }
}

impl Activity {
    /// The attempt is lost with its process; the row owes a back-off.
    pub(super) fn lose_owner(&mut self, now: Timestamp) {
        self.claim = None;
        self.lost += 1;
        self.attempts += 1;
        self.backoff_due = true;
        self.eligible_at = now;
    }

    /// Whether it may be claimed: by a worker that has its type, or past its deadline by anyone.
    pub(super) fn is_claimable(&self, types: &[String], now: Timestamp) -> bool {
        let eligible = self.eligible_at <= now && types.contains(&self.activity_type);
        self.claim.is_none() && (eligible || self.deadline.is_some_and(|deadline| deadline <= now))
    }
}
