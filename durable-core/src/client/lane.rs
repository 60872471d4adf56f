//! The start lane: starts that arrive while others are being written share the next transaction.
//!
//! A start that finds the lane idle is written at once, nothing waits for company. The lane's task belongs to no
//! caller: a start that was handed over is written even if its caller gives up. What fails for the moment goes back
//! to its caller, who waits and hands it over again: nobody else waits for that.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Client;
use crate::provider::{ErrorKind, ProviderError, ProviderResult, StartOutcome, StartRun};

/// Starts in one flush at most.
const FLUSH_MAX: usize = 256;
/// Bytes of their histories in one flush; a larger start goes alone.
const FLUSH_BYTES: usize = 8 << 20;

type Answer = ProviderResult<StartOutcome>;

/// One start and whoever waits for its answer.
#[derive(Debug)]
struct Waiting {
    start: StartRun,
    answer: oneshot::Sender<Answer>,
}

impl Waiting {
    fn settle(self, answer: Answer) {
        if self.answer.send(answer).is_err() {
            tracing::debug!("a start was answered after its caller had given up");
        }
    }
}

/// The starts of all clients of one `Durable` that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct StartLane {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// A task is writing, and will look again.
    flushing: bool,
}

impl StartLane {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a start in; `true` if nobody is writing: then the caller sees to it.
    fn push(&self, waiting: Waiting) -> bool {
        let mut state = self.state();
        state.waiting.push_back(waiting);
        !std::mem::replace(&mut state.flushing, true)
    }

    /// The next flush, or the end of the task if nothing waits.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut state = self.state();
        let (mut flush, mut filled) = (Vec::new(), 0);
        while let Some(first) = state.waiting.front() {
            let size = first.start.history.bytes.len();
            if !flush.is_empty() && (flush.len() == FLUSH_MAX || filled + size > FLUSH_BYTES) {
                break;
            }
            filled += size;
            flush.extend(state.waiting.pop_front());
        }
        if flush.is_empty() {
            state.flushing = false;
            return None;
        }
        Some(flush)
    }
}

/// The lane's task. Dropped before its end, it sends whoever waits away, to hand over again.
struct Flusher {
    client: Client,
    ended: bool,
}

impl Drop for Flusher {
    fn drop(&mut self) {
        if !self.ended {
            let mut state = self.client.inner.starts.state();
            state.flushing = false;
            state.waiting.clear();
        }
    }
}

impl Flusher {
    async fn run(mut self) {
        while let Some(flush) = self.client.inner.starts.next() {
            self.flush(flush).await;
        }
        self.ended = true;
    }

    /// Writes all of them. One that fails a whole transaction is found by halving, and hurts only itself.
    async fn flush(&self, flush: Vec<Waiting>) {
        let mut parts = vec![flush];
        while let Some(mut part) = parts.pop() {
            match self.write(&part).await {
                Ok(answers) => {
                    if answers.iter().any(|answer| matches!(answer, Ok(StartOutcome::Started(_)))) {
                        self.client.inner.wakeups.wake_pollers();
                    }
                    part.into_iter().zip(answers).for_each(|(waiting, answer)| waiting.settle(answer));
                }
                Err(error) if part.len() > 1 && hurts_alone(&error) => {
                    tracing::debug!(starts = part.len(), %error, "a flush of starts failed, writing its halves");
                    let half = part.split_off(part.len() / 2);
                    parts.push(half);
                    parts.push(part);
                }
                Err(error) => part.into_iter().for_each(|waiting| waiting.settle(Err(error.clone()))),
            }
        }
    }

    /// One transaction.
    async fn write(&self, part: &[Waiting]) -> ProviderResult<Vec<Answer>> {
        let starts = part.iter().map(|waiting| waiting.start.clone()).collect();
        let answers = self.client.inner.provider.workflow_start(starts).await?;
        if answers.len() != part.len() {
            let text = format!("{} starts got {} answers", part.len(), answers.len());
            return Err(ProviderError::new(ErrorKind::Corrupt, text));
        }
        Ok(answers)
    }
}

/// Whether the error may be one member's doing.
fn hurts_alone(error: &ProviderError) -> bool {
    error.kind() == ErrorKind::Conflict || !error.kind().is_transient()
}

impl Client {
    /// Hands one run over to be started, in a transaction with those that arrive at the same moment.
    pub(super) async fn start_run(&self, start: StartRun) -> Answer {
        let (sender, answer) = oneshot::channel();
        if self.inner.starts.push(Waiting { start, answer: sender }) {
            let flusher = Flusher { client: self.clone(), ended: false };
            // The handle is not needed: the task ends when nothing waits.
            drop(self.inner.tasks.spawn(flusher.run()));
        }
        answer.await.unwrap_or_else(|_| {
            let text = "the task that writes starts was lost with the async runtime that ran it; start again";
            Err(ProviderError::new(ErrorKind::Unavailable, text))
        })
    }
}
