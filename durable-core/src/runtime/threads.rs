//! Workflow threads: plain threads on which runs live. A run stays on the thread that its id names.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::cache::Cache;
use super::job::{Answer, JobKind, JobRun, Order, perform};
use super::message::Message;
use crate::id::{Epoch, InstanceId};
use crate::limits::TURN_WARN;
use crate::time::Clock;

struct Busy {
    instance: InstanceId,
    since: Duration,
    reported: bool,
}

/// One thread, as others see it.
struct Line {
    orders: mpsc::Sender<Order>,
    /// What the thread is working on.
    busy: Arc<Mutex<Option<Busy>>>,
    /// Given up: it must not answer any more.
    abandoned: Arc<AtomicBool>,
    /// Jobs without answer.
    waiting: Arc<Mutex<HashMap<InstanceId, Epoch>>>,
}

/// All workflow threads of a worker.
pub(super) struct Threads {
    lines: Mutex<Vec<Line>>,
    setup: Setup,
}

#[derive(Clone)]
struct Setup {
    clock: Arc<dyn Clock>,
    answers: UnboundedSender<Message>,
    cache: usize,
    limit: Duration,
}

impl Threads {
    /// Starts `count` threads.
    pub(super) fn start(
        count: usize,
        cache: usize,
        limit: Duration,
        clock: Arc<dyn Clock>,
        answers: UnboundedSender<Message>,
    ) -> io::Result<Self> {
        let setup = Setup { clock, answers, cache, limit };
        let lines = (0..count.max(1)).map(|_| setup.line()).collect::<io::Result<_>>()?;
        Ok(Self { lines: Mutex::new(lines), setup })
    }

    /// Hands a job to the run's thread.
    pub(super) fn send(&self, run: JobRun, job: JobKind) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let (instance, epoch) = (run.instance, run.epoch);
        let index = place(instance, lines.len());
        locked(&lines[index].waiting).insert(instance, epoch);
        if lines[index].orders.send(Order::Job(run, job)).is_err() {
            tracing::error!(%instance, "a workflow thread is gone, starting another");
            self.replace(&mut lines, index, None);
        }
    }

    /// Drops the run from its thread's cache.
    pub(super) fn evict(&self, instance: InstanceId) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = &lines[place(instance, lines.len())];
        if line.orders.send(Order::Evict(instance)).is_err() {
            tracing::debug!(%instance, "nothing to evict: the workflow thread is gone");
        }
    }

    /// Watches for turns that do not end, until the future is dropped.
    pub(super) async fn watch(&self) {
        let step = (self.setup.limit / 4).clamp(Duration::from_millis(5), Duration::from_secs(1));
        loop {
            self.setup.clock.sleep_until(self.setup.clock.elapsed().saturating_add(step)).await;
            self.look();
        }
    }

    fn look(&self) {
        let now = self.setup.clock.elapsed();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for index in 0..lines.len() {
            let mut stuck = None;
            if let Some(busy) = locked(&lines[index].busy).as_mut() {
                let took = now.saturating_sub(busy.since);
                if took > self.setup.limit {
                    stuck = Some(busy.instance);
                } else if took > TURN_WARN && !busy.reported {
                    busy.reported = true;
                    tracing::warn!(instance = %busy.instance, ?took, "a turn runs long: workflow code must not block");
                }
            }
            if let Some(instance) = stuck {
                tracing::error!(%instance, limit = ?self.setup.limit, "a turn did not end: its thread is given up");
                self.replace(&mut lines, index, Some(instance));
            }
        }
    }

    /// Puts a fresh thread in place of one; its jobs are answered here.
    fn replace(&self, lines: &mut [Line], index: usize, stuck: Option<InstanceId>) {
        let fresh = match self.setup.line() {
            Ok(fresh) => fresh,
            Err(error) => {
                tracing::error!(%error, "no further workflow thread can be started; trying again");
                return;
            }
        };
        let old = std::mem::replace(&mut lines[index], fresh);
        old.abandoned.store(true, Ordering::Release);
        for (instance, epoch) in locked(&old.waiting).drain() {
            let answer = if Some(instance) == stuck {
                Answer::Deadlock { limit: self.setup.limit }
            } else {
                Answer::NeedHistory
            };
            self.setup.answer(instance, epoch, answer);
        }
    }
}

fn place(instance: InstanceId, lines: usize) -> usize {
    let lines = i64::try_from(lines).unwrap_or(1);
    usize::try_from(instance.0.rem_euclid(lines)).unwrap_or(0)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Setup {
    fn answer(&self, instance: InstanceId, epoch: Epoch, answer: Answer) {
        if self.answers.send(Message::Thread { instance, epoch, answer }).is_err() {
            tracing::debug!(%instance, "an answer came after the worker had ended");
        }
    }

    fn line(&self) -> io::Result<Line> {
        let (orders, inbox) = mpsc::channel();
        let line = Line { orders, busy: Arc::default(), abandoned: Arc::default(), waiting: Arc::default() };
        let setup = self.clone();
        let (busy, abandoned, waiting) =
            (Arc::clone(&line.busy), Arc::clone(&line.abandoned), Arc::clone(&line.waiting));
        let body = move || {
            let mut cache = Cache::new(setup.cache);
            while let Ok(order) = inbox.recv() {
                let (run, job) = match order {
                    Order::Job(run, job) => (run, job),
                    Order::Evict(instance) => {
                        cache.evict(instance);
                        continue;
                    }
                };
                let since = setup.clock.elapsed();
                *locked(&busy) = Some(Busy { instance: run.instance, since, reported: false });
                let answer = perform(&mut cache, &run, job);
                *locked(&busy) = None;
                // The lock decides between this answer and the watchdog's.
                let mine = locked(&waiting).remove(&run.instance).is_some();
                if abandoned.load(Ordering::Acquire) || !mine {
                    return;
                }
                setup.answer(run.instance, run.epoch, answer);
            }
        };
        std::thread::Builder::new().name("durable-workflow".to_owned()).spawn(body)?;
        Ok(line)
    }
}
