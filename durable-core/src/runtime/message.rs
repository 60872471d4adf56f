//! What the owner of the runs is told.

use tokio::sync::oneshot;

use super::attempts::AttemptEnd;
use super::gate::{Pass, Suspicion};
use super::job::Answer;
use crate::history::Event;
use crate::id::{ActivityRowId, CommandId, Epoch, InstanceId};
use crate::provider::{ClaimedRun, CommitReceipt, InboxMessage, ProviderResult};

/// A message to the ownership task.
pub(super) enum Message {
    /// Runs were claimed.
    Claimed(Vec<(ClaimedRun, Option<Suspicion>)>),
    /// Work may run now.
    Admitted { instance: InstanceId, epoch: Epoch, pass: Pass },
    /// History was read; the error is the reason for which the run is blocked or let go.
    History { instance: InstanceId, epoch: Epoch, events: Result<Vec<Event>, HistoryFault> },
    /// A workflow thread is done.
    Thread { instance: InstanceId, epoch: Epoch, answer: Answer },
    /// A commit has its answer.
    Committed { instance: InstanceId, epoch: Epoch, answer: ProviderResult<CommitReceipt> },
    /// A local attempt has ended.
    Attempted { instance: InstanceId, epoch: Epoch, command: CommandId, end: AttemptEnd },
    /// The instance got a message, whoever owns it.
    InboxHint(InstanceId),
    /// The database has unread messages for an instance that it holds for this worker.
    InboxPending(InstanceId),
    /// Unread messages of an owned run.
    Inbox { instance: InstanceId, epoch: Epoch, messages: Vec<InboxMessage> },
    /// A timer of an owned run is due.
    TimerDue { instance: InstanceId, epoch: Epoch },
    /// Which runs are owned?
    Owned(oneshot::Sender<Vec<(InstanceId, Epoch)>>),
    /// These runs belong to somebody else.
    Lost(Vec<(InstanceId, Epoch)>),
    /// Let go of everything as soon as it is quiet.
    Drain,
    /// The grace is over: abort local attempts.
    Abort,
}

/// Why history could not be read.
#[derive(Debug)]
pub(super) enum HistoryFault {
    /// It cannot be decoded: the run is blocked.
    Corrupt(String),
    /// The provider refused: the run is let go.
    Refused(String),
}

/// A durable row that this worker has claimed.
pub(super) type HeldRow = (ActivityRowId, Epoch);
