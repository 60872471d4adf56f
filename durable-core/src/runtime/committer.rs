//! Group commit: flushes as soon as it is idle, accumulates while a flush is under way.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::message::Message;
use super::shared::Shared;
use crate::provider::{CommitBatch, CommitReceipt, ErrorKind, ProviderError, ProviderResult, RunCommit};

/// Commits in one flush at most.
const FLUSH_MAX: usize = 512;

/// Runs until the sender of commits is gone.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut commits: UnboundedReceiver<RunCommit>,
    answers: UnboundedSender<Message>,
) {
    let mut batch = Vec::new();
    while commits.recv_many(&mut batch, FLUSH_MAX).await > 0 {
        for (commit, answer) in flush(&shared, std::mem::take(&mut batch)).await {
            if let Ok(receipt) = &answer {
                shared.saw_time(receipt.now);
            }
            let message = Message::Committed { instance: commit.instance, epoch: commit.epoch, answer };
            if answers.send(message).is_err() {
                return;
            }
        }
    }
}

type Answered = Vec<(RunCommit, ProviderResult<CommitReceipt>)>;

/// Writes every commit, in as few transactions as its members allow. The order of answers is not that of
/// the commits: each run has one commit under way at most.
async fn flush(shared: &Shared, commits: Vec<RunCommit>) -> Answered {
    let mut answered = Vec::with_capacity(commits.len());
    let mut parts = vec![commits];
    while let Some(mut part) = parts.pop() {
        match write(shared, &part).await {
            Ok(answers) => answered.extend(part.into_iter().zip(answers)),
            Err(error) if part.len() == 1 => {
                answered.extend(part.into_iter().map(|commit| (commit, Err(error.clone()))));
            }
            Err(error) => {
                tracing::debug!(commits = part.len(), %error, "a flush failed, writing its halves");
                let half = part.split_off(part.len() / 2);
                parts.push(half);
                parts.push(part);
            }
        }
    }
    answered
}

/// Makes one flush, again after transient errors and with the same flush ids, until it has an answer.
async fn write(shared: &Shared, commits: &[RunCommit]) -> ProviderResult<Vec<ProviderResult<CommitReceipt>>> {
    for attempt in 0_u32.. {
        let batch = CommitBatch {
            incarnation: shared.incarnation,
            commits: commits.to_vec(),
            lease: shared.lease,
            now: shared.now_override(),
        };
        let error = match shared.provider.workflow_commit(batch).await {
            Ok(answers) if answers.len() == commits.len() => return Ok(answers),
            Ok(answers) => {
                let text = format!("{} commits got {} answers", commits.len(), answers.len());
                return Err(ProviderError::new(ErrorKind::Corrupt, text));
            }
            Err(error) => error,
        };
        let hurts_alone = error.kind() == ErrorKind::Conflict && commits.len() > 1;
        if hurts_alone || !error.kind().is_transient() || shared.stopped.is_cancelled() {
            return Err(error);
        }
        tokio::select! {
            () = shared.back_off("commit", attempt, &error) => {}
            () = shared.stopped.cancelled() => return Err(error),
        }
    }
    unreachable!("the loop has no end")
}
