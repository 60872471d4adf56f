//! The outside world of a test, as far as activities change it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::activity::ActivityContext;
use durable_core::id::{CommandId, RunId};

/// Whose effect: workflow id, which of its runs that had effects, and activity id.
pub(crate) type Place = (String, usize, u64);
/// Idempotency key, and what was done.
type Effect = (String, String);

#[derive(Debug, Default)]
struct State {
    done: BTreeMap<Place, BTreeSet<Effect>>,
    /// Runs that had effects, by workflow id, in order of their first.
    runs: BTreeMap<String, Vec<RunId>>,
    executions: usize,
    /// `None`: nobody says what is stored.
    scheduled: Option<BTreeSet<(RunId, CommandId)>>,
    early: Vec<String>,
}

/// What activities did, under which idempotency keys. Clones are the same world. It is given to workers as
/// state, and outlives their processes.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    state: Arc<Mutex<State>>,
}

impl Effects {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An activity does `what`. Doing the same under the same key again changes nothing.
    pub fn record(&self, ctx: &ActivityContext, what: impl Into<String>) {
        let effect = (ctx.idempotency_key().to_owned(), what.into());
        let mut state = self.state();
        let id = ctx.workflow_id().to_string();
        let runs = state.runs.entry(id.clone()).or_default();
        let number = runs.iter().position(|run| *run == ctx.run_id()).unwrap_or_else(|| {
            runs.push(ctx.run_id());
            runs.len() - 1
        });
        let place = (id, number, ctx.activity_id().0);
        state.executions += 1;
        let command = (ctx.run_id(), ctx.activity_id());
        if state.scheduled.as_ref().is_some_and(|scheduled| !scheduled.contains(&command)) {
            let text = format!("activity {} of `{}` ran before its own event was stored", place.2, place.0);
            state.early.push(text);
        }
        state.done.entry(place).or_default().insert(effect);
    }

    /// What must not be: an activity that ran before it was recorded, has had two effects, or one under two
    /// keys.
    pub fn violation(&self) -> Option<String> {
        self.once_each().err()
    }

    /// How often effects were made, repetitions included.
    pub(crate) fn executions(&self) -> usize {
        self.state().executions
    }

    /// From now on an effect has to follow the storing of its command.
    pub(crate) fn watch(&self) {
        self.state().scheduled.get_or_insert_default();
    }

    /// The command of an activity is stored.
    pub(crate) fn scheduled(&self, run: RunId, command: CommandId) {
        self.state().scheduled.get_or_insert_default().insert((run, command));
    }

    /// What was done by whom.
    pub(crate) fn once_each(&self) -> Result<BTreeMap<Place, String>, String> {
        let state = self.state();
        if let Some(early) = state.early.first() {
            return Err(early.clone());
        }
        let once = |(place, effects): (&Place, &BTreeSet<Effect>)| match effects.first() {
            Some((_, what)) if effects.len() == 1 => Ok((place.clone(), what.clone())),
            _ => Err(format!("activity {} of `{}` has effects {effects:?}", place.2, place.0)),
        };
        state.done.iter().map(once).collect()
    }
}
