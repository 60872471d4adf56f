//! Workflow threads: plain threads on which runs live. A run stays on the thread that its id names.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::cache::Cache;
use super::message::Message;
use crate::engine::OpenActivity;
use crate::history::{Event, EventKind};
use crate::id::{BuildId, Epoch, EventId, IdSeed, InstanceId};
use crate::limits::TURN_WARN;
use crate::time::{Clock, Timestamp};
use crate::workflow::{LiveRun, RunIdentity, TaskFailure, TurnOutput, WorkflowEntry};

/// Which run a job is about, and which of its states.
#[derive(Clone)]
pub(super) struct JobRun {
    pub(super) instance: InstanceId,
    pub(super) epoch: Epoch,
    pub(super) identity: RunIdentity,
    /// What was committed: a cached run that knows anything else is of no use.
    pub(super) next_event: EventId,
}

/// What a thread is to do.
pub(super) enum JobKind {
    /// Have the run in memory, from the cache or from its history.
    Load { entry: Option<Arc<dyn WorkflowEntry>>, history: Option<Vec<Event>>, max_events: u64 },
    /// Deliver `inputs` and the timers that are due at `at`.
    Turn { inputs: Vec<EventKind>, at: Timestamp, build: BuildId },
}

enum Order {
    Job(JobRun, JobKind),
    Evict(InstanceId),
}

/// What a thread answers.
#[expect(clippy::large_enum_variant, reason = "moved twice, and the large variant is the usual one")]
pub(super) enum Answer {
    /// The run is not in the cache (any more).
    NeedHistory,
    /// The run is in memory.
    Loaded(LoadedRun),
    /// The turn ran; nothing of it is committed yet.
    Turned(TurnOutput),
    /// There was nothing to deliver.
    Idle { next_timer: Option<Timestamp> },
    /// The workflow task failed.
    Failed(TaskFailure),
    /// The turn did not end in time; its thread was given up.
    Deadlock { limit: Duration },
}

/// What the owner must know of a run in memory.
pub(super) struct LoadedRun {
    pub(super) seed: IdSeed,
    pub(super) open: Vec<OpenActivity>,
    pub(super) has_tail: bool,
    pub(super) next_timer: Option<Timestamp>,
}

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

/// Does a job. `LiveRun` catches the panics of workflow code itself.
fn perform(cache: &mut Cache, run: &JobRun, job: JobKind) -> Answer {
    let run_id = run.identity.run_id;
    let cached = cache.take(run.instance, run_id, run.next_event);
    match job {
        JobKind::Load { entry, history, max_events } => {
            let live = match (cached, history) {
                (Some(live), _) => live,
                (None, None) => return Answer::NeedHistory,
                (None, Some(events)) => {
                    match LiveRun::load(entry.as_ref(), run.identity.clone(), events, max_events) {
                        Ok(live) => live,
                        Err(failure) => return Answer::Failed(failure),
                    }
                }
            };
            let loaded = LoadedRun {
                seed: live.seed(),
                open: live.open_activities(),
                has_tail: live.has_tail(),
                next_timer: live.next_timer(),
            };
            cache.put(run.instance, run_id, live);
            Answer::Loaded(loaded)
        }
        JobKind::Turn { mut inputs, at, build } => {
            let Some(mut live) = cached else { return Answer::NeedHistory };
            inputs.extend(live.due_timers(at));
            if inputs.is_empty() && !live.has_tail() {
                let next_timer = live.next_timer();
                cache.put(run.instance, run_id, live);
                return Answer::Idle { next_timer };
            }
            match live.turn(inputs, at, &build) {
                Ok(output) => {
                    if output.closed.is_none() {
                        cache.put(run.instance, run_id, live);
                    }
                    Answer::Turned(output)
                }
                Err(failure) => Answer::Failed(failure),
            }
        }
    }
}
