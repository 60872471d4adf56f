//! Group commit: flushes as soon as it is idle, accumulates while a flush is under way.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::message::Message;
use super::shared::Shared;
use crate::provider::{
    ActivityChange, CommitBatch, CommitReceipt, ErrorKind, ProviderError, ProviderResult, RunCommit,
};

/// Runs until the sender of commits is gone.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut commits: UnboundedReceiver<RunCommit>,
    answers: UnboundedSender<Message>,
) {
    let mut batch = Vec::new();
    while commits.recv_many(&mut batch, shared.flush_max).await > 0 {
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

/// Bytes in one flush; a larger commit goes alone. A transaction of many large turns would hold the writer, and
/// could outlast the leases of its members.
const FLUSH_BYTES: usize = 8 << 20;

/// Commits as flushes of bounded size, the last one first.
fn portions(commits: Vec<RunCommit>) -> Vec<Vec<RunCommit>> {
    let (mut portions, mut filled) = (vec![Vec::new()], 0);
    for commit in commits {
        let size = size(&commit);
        if filled > 0 && filled + size > FLUSH_BYTES {
            portions.push(Vec::new());
            filled = 0;
        }
        filled += size.max(1);
        if let Some(portion) = portions.last_mut() {
            portion.push(commit);
        }
    }
    portions.reverse();
    portions
}

fn size(commit: &RunCommit) -> usize {
    let history: usize = commit.history.iter().map(|row| row.bytes.len()).sum();
    let rows = commit.activities.iter().map(|change| match change {
        ActivityChange::Insert(row) => row.task.len(),
        ActivityChange::Remove(_) => 0,
    });
    history + rows.sum::<usize>()
}

type Answered = Vec<(RunCommit, ProviderResult<CommitReceipt>)>;

/// Writes every commit, in as few transactions as its members allow. The order of answers is not that of
/// the commits: each run has one commit under way at most.
async fn flush(shared: &Shared, commits: Vec<RunCommit>) -> Answered {
    let mut answered = Vec::with_capacity(commits.len());
    let mut parts = portions(commits);
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
            biased;
            () = shared.back_off("commit", attempt, &error) => {}
            () = shared.stopped.cancelled() => return Err(error),
        }
    }
    unreachable!("the loop has no end")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::history::EncodedBatch;
    use crate::id::{Epoch, EventId, FlushId, InboxSeq, InstanceId, RunId};
    use crate::provider::{BlockChange, Disposition};

    fn commit(number: i64, bytes: usize) -> RunCommit {
        let row = EncodedBatch { first: EventId(2), next: EventId(3), bytes: Bytes::from(vec![0; bytes]) };
        RunCommit {
            instance: InstanceId(number),
            run_id: RunId::fresh(),
            epoch: Epoch(1),
            expected_next: EventId(2),
            flush: FlushId::fresh(),
            history: vec![row],
            consumed_through: InboxSeq(0),
            activities: Vec::new(),
            progress: true,
            block: BlockChange::Keep,
            disposition: Disposition::Keep,
        }
    }

    #[test]
    fn a_flush_is_bounded_by_bytes_and_keeps_the_order_of_its_commits() {
        let sizes = [1, FLUSH_BYTES - 1, 1, FLUSH_BYTES * 3, 5, 0, 7];
        let commits = (0..).zip(sizes).map(|(number, bytes)| commit(number, bytes)).collect();
        let mut portions = portions(commits);
        portions.reverse();
        let numbers: Vec<Vec<i64>> =
            portions.iter().map(|portion| portion.iter().map(|commit| commit.instance.0).collect()).collect();
        assert_eq!(numbers, [vec![0, 1], vec![2], vec![3], vec![4, 5, 6]]);
    }
}
