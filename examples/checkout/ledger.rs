//! The payment ledger: somebody else's service, played by one file.
//!
//! Its call log *is* its state: a line appended in one `write` is a charge that took effect, and opening the file
//! reads it back. It honours idempotency keys, refuses bad cards for good, and fails one call in five: half of
//! those before anything happened, half after the charge took effect, so that the caller never hears of it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::dice::{Dice, network_delay};
use crate::orders::card_is_refused;

/// Of a hundred calls, so many fail before the charge, and so many after it.
const FAILS_BEFORE: u64 = 10;
const FAILS_AFTER: u64 = 10;

/// The ledger's name for a charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChargeId(pub(crate) String);

/// What a caller asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChargeRequest<'a> {
    pub(crate) key: &'a str,
    pub(crate) order: &'a str,
    pub(crate) card: &'a str,
    pub(crate) cents: u64,
}

/// Why the caller has no charge id.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    #[error("the card was refused")]
    Refused,
    #[error("idempotency key {key} was used for another charge")]
    KeyReused { key: String },
    #[error("the ledger did not answer")]
    NoAnswer,
    #[error("the ledger's file")]
    File(#[from] io::Error),
}

/// What became of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Money moved.
    Charged,
    /// The same key again: the earlier charge was named, no money moved.
    Repeated,
    Refused,
    KeyReused,
    /// Failed before anything happened.
    FailedBefore,
}

/// One line of the call log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) outcome: Outcome,
    pub(crate) key: String,
    pub(crate) order: String,
    pub(crate) cents: u64,
    pub(crate) charge: Option<ChargeId>,
    /// The caller was told nothing.
    pub(crate) answer_lost: bool,
}

/// The ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    books: Mutex<Books>,
    seed: u64,
}

#[derive(Debug)]
struct Books {
    file: File,
    charges: HashMap<String, Call>,
    calls: HashMap<String, u64>,
}

impl Ledger {
    /// Opens the ledger for this process alone; waits until another that has it open is gone.
    pub(crate) fn open(path: &Path, seed: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        file.lock()?;
        // A SIGKILL can cut a write at a page boundary: that call never returned, so it never happened.
        file.set_len(whole_lines(&std::fs::read(path)?).len() as u64)?;
        let mut books = Books { file, charges: HashMap::new(), calls: HashMap::new() };
        for call in read(path)? {
            books.remember(call);
        }
        Ok(Self { books: Mutex::new(books), seed })
    }

    /// Charges a card, once per key.
    pub(crate) async fn charge(&self, request: ChargeRequest<'_>) -> Result<ChargeId, LedgerError> {
        let mut dice = Dice::about(self.seed, request.key);
        network_delay(&mut dice).await;
        let answer = self.books.lock().unwrap_or_else(PoisonError::into_inner).call(self.seed, request);
        network_delay(&mut dice).await;
        answer
    }
}

impl Books {
    /// One call, from the draw of its luck to the line in the log.
    fn call(&mut self, seed: u64, request: ChargeRequest<'_>) -> Result<ChargeId, LedgerError> {
        let nth = self.calls.get(request.order).copied().unwrap_or_default();
        let luck = Dice::about(seed, &format!("{}#{nth}", request.order)).below(100);
        let mut call = Call {
            outcome: Outcome::FailedBefore,
            key: request.key.to_owned(),
            order: request.order.to_owned(),
            cents: request.cents,
            charge: None,
            answer_lost: luck < FAILS_BEFORE + FAILS_AFTER,
        };
        if luck >= FAILS_BEFORE {
            (call.outcome, call.charge) = self.decide(request);
        }
        let mut line = serde_json::to_vec(&call).map_err(io::Error::from)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        let answer = answer(&call);
        self.remember(call);
        answer
    }

    fn decide(&self, request: ChargeRequest<'_>) -> (Outcome, Option<ChargeId>) {
        match self.charges.get(request.key) {
            Some(call) if call.order == request.order && call.cents == request.cents => {
                (Outcome::Repeated, call.charge.clone())
            }
            Some(_) => (Outcome::KeyReused, None),
            None if card_is_refused(request.card) => (Outcome::Refused, None),
            None => (Outcome::Charged, Some(ChargeId(format!("ch_{:06}", self.charges.len() + 1)))),
        }
    }

    fn remember(&mut self, call: Call) {
        *self.calls.entry(call.order.clone()).or_default() += 1;
        if call.outcome == Outcome::Charged {
            self.charges.insert(call.key.clone(), call);
        }
    }
}

/// What the caller hears.
fn answer(call: &Call) -> Result<ChargeId, LedgerError> {
    match (call.outcome, &call.charge) {
        _ if call.answer_lost => Err(LedgerError::NoAnswer),
        (Outcome::Charged | Outcome::Repeated, Some(charge)) => Ok(charge.clone()),
        (Outcome::Refused, _) => Err(LedgerError::Refused),
        (Outcome::KeyReused, _) => Err(LedgerError::KeyReused { key: call.key.clone() }),
        _ => Err(LedgerError::NoAnswer),
    }
}

/// The call log as it stands.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Call>> {
    let bytes = std::fs::read(path)?;
    String::from_utf8_lossy(whole_lines(&bytes))
        .lines()
        .map(|line| serde_json::from_str(line).map_err(io::Error::from))
        .collect()
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(key: &'a str, card: &'a str) -> ChargeRequest<'a> {
        ChargeRequest { key, order: "7", card, cents: 500 }
    }

    /// Calls until the ledger answers.
    fn insist(books: &mut Books, request: ChargeRequest<'_>) -> Result<ChargeId, LedgerError> {
        loop {
            match books.call(1, request) {
                Err(LedgerError::NoAnswer) => {}
                answer => return answer,
            }
        }
    }

    #[test]
    fn a_key_is_charged_once_also_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.log");
        let mut ids = Vec::new();
        for _ in 0..3 {
            let ledger = Ledger::open(&path, 1).unwrap();
            let mut books = ledger.books.lock().unwrap();
            for _ in 0..10 {
                ids.push(insist(&mut books, request("k", "4242")).unwrap());
            }
            assert!(matches!(insist(&mut books, request("bad", "40002")), Err(LedgerError::Refused)));
            let other = ChargeRequest { cents: 1, ..request("k", "4242") };
            assert!(matches!(insist(&mut books, other), Err(LedgerError::KeyReused { .. })));
        }
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"cut").unwrap();
        drop(Ledger::open(&path, 1).unwrap());
        ids.dedup();
        assert_eq!(ids, [ChargeId("ch_000001".to_owned())]);
        let calls = read(&path).unwrap();
        let count = |outcome| calls.iter().filter(|c| c.outcome == outcome).count();
        assert_eq!(count(Outcome::Charged), 1);
        assert!(
            count(Outcome::FailedBefore) > 0 && calls.iter().any(|c| c.answer_lost && c.charge.is_some())
        );
    }
}
