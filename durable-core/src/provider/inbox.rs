//! The inbox: messages for an instance that are not yet history.

use async_trait::async_trait;
use bytes::Bytes;

use super::error::ProviderResult;
use crate::id::{InboxSeq, Incarnation, InstanceId, RequestId};
use crate::time::Timestamp;

/// What a message is; a number in storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(i16)]
pub enum MessageKind {
    /// The encoded outcome event of an activity row.
    ActivityOutcome = 1,
    /// A request to cancel the run; the body is its reason.
    CancelRequest = 2,
}

impl MessageKind {
    /// The number that storage holds.
    pub fn code(self) -> i16 {
        self as i16
    }

    /// The kind with this number.
    pub fn from_code(code: i16) -> Option<Self> {
        [Self::ActivityOutcome, Self::CancelRequest].into_iter().find(|kind| kind.code() == code)
    }
}

/// One unread message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Its position, given under the instance's lock.
    pub seq: InboxSeq,
    /// What it is.
    pub kind: MessageKind,
    /// Its content.
    pub body: Bytes,
}

/// Params of [`Inbox::cancel_request`].
#[derive(Debug, Clone)]
pub struct CancelRequest {
    /// The instance.
    pub instance: InstanceId,
    /// Why, for people.
    pub reason: String,
    /// A repeat with the same id is one message.
    pub request_id: RequestId,
    /// Test clock.
    pub now: Option<Timestamp>,
}

/// Answer to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is in the inbox.
    Accepted,
    /// The same message was accepted before.
    Duplicate,
    /// The instance is closed; nothing was changed.
    Closed,
}

/// Params of [`Inbox::inbox_read`].
#[derive(Debug, Clone, Copy)]
pub struct InboxRead {
    /// The instance.
    pub instance: InstanceId,
    /// Messages after this one.
    pub after: InboxSeq,
}

/// The inbox.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Asks an instance to cancel. Makes a waiting instance runnable (G6); a blocked one stays blocked.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown instance.
    async fn cancel_request(&self, params: CancelRequest) -> ProviderResult<SendOutcome>;

    /// Unread messages in order.
    async fn inbox_read(&self, params: InboxRead) -> ProviderResult<Vec<InboxMessage>>;

    /// Instances that this worker owns and that have unread messages.
    async fn inbox_pending(&self, incarnation: Incarnation) -> ProviderResult<Vec<InstanceId>>;
}
