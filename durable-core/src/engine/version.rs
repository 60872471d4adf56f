//! Versions of a change (design D4): new runs go by the newest path, recorded ones by theirs.
//!
//! A version is a marker that is looked up by its change id among those of its turn, not by its place: a call
//! may come, go and move within its turn, and shifts no command.

use std::collections::{BTreeMap, VecDeque};

use super::fault::{Fault, Halted};
use super::state::Engine;
use crate::history::{Event, EventKind, Marker};
use crate::id::check_name;

/// A call of `ctx.version` or `ctx.deprecate_version`.
#[derive(Debug, Clone, Copy)]
pub struct VersionRequest<'a> {
    /// The name of the change.
    pub change_id: &'a str,
    /// The oldest path that the code still has.
    pub min: u32,
    /// The newest.
    pub max: u32,
    /// Whether the call is about to go: its marker may be left over from then on.
    pub deprecated: bool,
}

/// What the run knows of its changes.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// By change id; `None` for a run that passed the place before there was a change.
    known: BTreeMap<String, Option<u32>>,
    /// Markers of the turn under way that no call has asked for yet.
    turn: BTreeMap<String, Event>,
}

impl Versions {
    /// Takes the version markers out of a past turn's commands; the other commands come back in order.
    pub(super) fn set_aside(&mut self, commands: Vec<Event>) -> VecDeque<Event> {
        self.turn.clear();
        let mut others = VecDeque::with_capacity(commands.len());
        for event in commands {
            match &event.kind {
                EventKind::MarkerRecorded { marker: Marker::Version { change_id, .. } }
                    if !self.turn.contains_key(change_id) =>
                {
                    self.turn.insert(change_id.clone(), event);
                }
                _ => others.push_back(event),
            }
        }
        others
    }

    /// The first marker of the turn that no call asked for, and that was not recorded as about to go.
    pub(super) fn left(&self) -> Option<&Event> {
        let left = self.turn.values().filter(|event| {
            !matches!(
                event.kind,
                EventKind::MarkerRecorded { marker: Marker::Version { deprecated: true, .. } }
            )
        });
        left.min_by_key(|event| event.id)
    }
}

impl Engine {
    /// The version by which the run goes. Never waits, and draws no id.
    ///
    /// # Errors
    ///
    /// Halted: the task has failed, now or before; a recorded version has no path in the code any more.
    pub fn version(&mut self, request: VersionRequest<'_>) -> Result<u32, Halted> {
        let VersionRequest { change_id, min, max, deprecated } = request;
        if self.is_discarding() {
            let known = self.versions.known.get(change_id).copied();
            return Ok(known.map_or(max, |version| version.unwrap_or(min)));
        }
        self.check_running()?;
        if min > max {
            let reason =
                format!("`ctx.version({change_id:?}, {min}..={max})` leaves no version: the range is empty");
            return Err(self.halt(Fault::Refused(reason)));
        }
        if let Some(known) = self.versions.known.get(change_id) {
            let version = known.unwrap_or(min);
            return self.within(request, version);
        }
        if let Err(error) = check_name("change id", change_id) {
            return Err(self.halt(Fault::Refused(error.to_string())));
        }
        let known = if self.is_replaying() {
            match self.versions.turn.remove(change_id).map(|event| event.kind) {
                Some(EventKind::MarkerRecorded { marker: Marker::Version { version, .. } }) => Some(version),
                _ => None,
            }
        } else {
            let marker = Marker::Version { change_id: change_id.to_owned(), version: max, deprecated };
            self.issue(EventKind::MarkerRecorded { marker })?;
            Some(max)
        };
        self.versions.known.insert(change_id.to_owned(), known);
        self.within(request, known.unwrap_or(min))
    }

    fn within(&mut self, request: VersionRequest<'_>, version: u32) -> Result<u32, Halted> {
        if (request.min..=request.max).contains(&version) {
            return Ok(version);
        }
        let fault = self.explain_version(request, version);
        Err(self.halt(fault))
    }

    /// The first recorded command of the turn that the code did not ask for.
    pub(super) fn first_left(&self) -> Option<Event> {
        let next = self.recorded.as_ref().and_then(VecDeque::front);
        next.into_iter().chain(self.versions.left()).min_by_key(|event| event.id).cloned()
    }
}
