//! What goes wrong, and where: named calls, or a seed with rates.

use std::fmt;

use durable_core::provider::ErrorKind;

use super::gate::Gate;
use crate::random::SplitMix;

/// What happens to one call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The call is not made; the caller gets an error of this kind.
    Error(ErrorKind),
    /// The call is made; the caller gets `Unavailable`, whatever the answer was.
    LoseAnswer,
    /// The call is made twice, one after the other; the caller gets the second answer.
    Duplicate,
    /// The call is made once the gate lets it pass.
    Delay(Gate),
    /// The process dies before the call is made.
    CrashBefore,
    /// The process dies after the call took effect.
    CrashAfter,
}

impl Fault {
    /// What it is, without its gate.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Error(kind) => FaultKind::Error(*kind),
            Self::LoseAnswer => FaultKind::LoseAnswer,
            Self::Duplicate => FaultKind::Duplicate,
            Self::Delay(_) => FaultKind::Delay,
            Self::CrashBefore => FaultKind::CrashBefore,
            Self::CrashAfter => FaultKind::CrashAfter,
        }
    }
}

/// A [`Fault`] in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// [`Fault::Error`].
    Error(ErrorKind),
    /// [`Fault::LoseAnswer`].
    LoseAnswer,
    /// [`Fault::Duplicate`].
    Duplicate,
    /// [`Fault::Delay`].
    Delay,
    /// [`Fault::CrashBefore`].
    CrashBefore,
    /// [`Fault::CrashAfter`].
    CrashAfter,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(kind) => write!(f, "error {kind:?} before the call"),
            Self::LoseAnswer => f.write_str("lost answer"),
            Self::Duplicate => f.write_str("made twice"),
            Self::Delay => f.write_str("delayed"),
            Self::CrashBefore => f.write_str("crash before the call"),
            Self::CrashAfter => f.write_str("crash after the call"),
        }
    }
}

/// One fault that was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected {
    /// Number of the call, over all calls, from 1.
    pub call: usize,
    /// Its name.
    pub name: &'static str,
    /// The how many-th call of that name it was, from 1.
    pub nth: usize,
    /// What happened to it.
    pub fault: FaultKind,
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}, {} {}: {}", self.call, self.name, self.nth, self.fault)
    }
}

/// How often what happens, out of 1,000 calls each; together at most 1,000.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// [`Fault::Error`], with a kind from `kinds`.
    pub error: u16,
    /// The kinds of errors to choose from; empty for all that are transient.
    pub kinds: Vec<ErrorKind>,
    /// [`Fault::LoseAnswer`].
    pub lose_answer: u16,
    /// [`Fault::Duplicate`].
    pub duplicate: u16,
    /// [`Fault::Delay`] at `gate`.
    pub delay: u16,
    /// Where delayed calls wait; none for [`Gate::yielding`] 100 times.
    pub gate: Option<Gate>,
    /// [`Fault::CrashBefore`].
    pub crash_before: u16,
    /// [`Fault::CrashAfter`].
    pub crash_after: u16,
}

/// What goes wrong, and where.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    points: Vec<(Point, Fault)>,
    seeded: Vec<(u64, Rates)>,
}

/// A place in the sequence of calls.
#[derive(Debug, Clone)]
enum Point {
    Call(usize),
    Named(String, usize),
}

impl Plan {
    /// Nothing goes wrong; calls are counted.
    pub fn none() -> Self {
        Self::default()
    }

    /// At the `call`-th call of all, from 1.
    pub fn at(call: usize, fault: Fault) -> Self {
        Self { points: vec![(Point::Call(call), fault)], seeded: Vec::new() }
    }

    /// At the `nth` call of that name, from 1: `Plan::at_call("workflow_commit", 2, …)`.
    pub fn at_call(name: impl Into<String>, nth: usize, fault: Fault) -> Self {
        Self { points: vec![(Point::Named(name.into(), nth), fault)], seeded: Vec::new() }
    }

    /// Drawn for each call. What the n-th call of a name meets depends on the seed, the name and n only: calls of
    /// different names that change places change nothing.
    ///
    /// # Panics
    ///
    /// If the rates come to more than 1,000 together.
    pub fn seeded(seed: u64, rates: Rates) -> Self {
        let total: u32 = rates.table().iter().map(|&(rate, _)| u32::from(rate)).sum();
        assert!(total <= 1000, "the rates come to {total} out of 1000");
        Self { points: Vec::new(), seeded: vec![(seed, rates)] }
    }

    /// Both plans; where they meet, this one goes first, and named calls before drawn ones.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.points.extend(other.points);
        self.seeded.extend(other.seeded);
        self
    }

    pub(super) fn fault(&self, call: usize, name: &str, nth: usize) -> Option<Fault> {
        let planned = self.points.iter().find(|(point, _)| match point {
            Point::Call(number) => *number == call,
            Point::Named(named, number) => named == name && *number == nth,
        });
        planned
            .map(|(_, fault)| fault.clone())
            .or_else(|| self.seeded.iter().find_map(|(seed, rates)| rates.draw(*seed, name, nth)))
    }
}

/// Which of the rates was drawn.
#[derive(Debug, Clone, Copy)]
enum Drawn {
    Error,
    LoseAnswer,
    Duplicate,
    Delay,
    CrashBefore,
    CrashAfter,
}

impl Rates {
    fn table(&self) -> [(u16, Drawn); 6] {
        [
            (self.error, Drawn::Error),
            (self.lose_answer, Drawn::LoseAnswer),
            (self.duplicate, Drawn::Duplicate),
            (self.delay, Drawn::Delay),
            (self.crash_before, Drawn::CrashBefore),
            (self.crash_after, Drawn::CrashAfter),
        ]
    }

    fn draw(&self, seed: u64, name: &str, nth: usize) -> Option<Fault> {
        let mut random = SplitMix::of(seed, name, nth);
        let mut left = random.below(1000);
        for (rate, drawn) in self.table() {
            let rate = usize::from(rate);
            if left < rate {
                return Some(self.fault(drawn, &mut random));
            }
            left -= rate;
        }
        None
    }

    fn fault(&self, drawn: Drawn, random: &mut SplitMix) -> Fault {
        const TRANSIENT: [ErrorKind; 4] =
            [ErrorKind::Busy, ErrorKind::Unavailable, ErrorKind::Conflict, ErrorKind::StorageFull];
        match drawn {
            Drawn::Error => {
                let kinds = if self.kinds.is_empty() { &TRANSIENT[..] } else { &self.kinds };
                Fault::Error(kinds[random.below(kinds.len())])
            }
            Drawn::LoseAnswer => Fault::LoseAnswer,
            Drawn::Duplicate => Fault::Duplicate,
            Drawn::Delay => Fault::Delay(self.gate.clone().unwrap_or_else(|| Gate::yielding(100))),
            Drawn::CrashBefore => Fault::CrashBefore,
            Drawn::CrashAfter => Fault::CrashAfter,
        }
    }
}
