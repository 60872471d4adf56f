//! The attempt log: which activity attempts began and which ended, in a file that outlives a SIGKILL.
//!
//! One line is one `write` to a file opened for appending: once the call returned, the line is in the page cache,
//! which dies with the machine and not with the process. Nothing is synced. It is evidence only; no decision
//! of the shop rests on it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "attempts-";

/// How an attempt ended, as far as the activity itself knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// An error that trying again may cure.
    Retry,
    /// An error that is the answer.
    Final,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Retry => "retry",
            Self::Final => "final",
        }
    }
}

/// The log of one worker process, as it writes it.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    file: File,
    next: AtomicU64,
}

impl AttemptLog {
    /// Opens a file of its own, also when an earlier process had the same id.
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        for turn in 0.. {
            let path = dir.join(format!("{}.log", stem(std::process::id(), turn)));
            match OpenOptions::new().append(true).create_new(true).open(path) {
                Ok(file) => return Ok(Self { file, next: AtomicU64::new(1) }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Records that an attempt begins, and returns its number in this file.
    pub(crate) fn start(&self, workflow: &str, activity: &str, key: &str) -> io::Result<u64> {
        let nonce = self.next.fetch_add(1, Ordering::Relaxed);
        self.line(&format!("start {workflow} {activity} {key} {nonce}\n"))?;
        Ok(nonce)
    }

    /// Records that it is over.
    pub(crate) fn end(
        &self,
        workflow: &str,
        activity: &str,
        key: &str,
        nonce: u64,
        end: End,
    ) -> io::Result<()> {
        self.line(&format!("end {workflow} {activity} {key} {nonce} {}\n", end.word()))
    }

    fn line(&self, line: &str) -> io::Result<()> {
        (&self.file).write_all(line.as_bytes())
    }
}

/// One attempt as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) workflow: String,
    pub(crate) activity: String,
    pub(crate) key: String,
    pub(crate) end: Option<End>,
}

impl Attempt {
    /// Whether the activity has its answer.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.end, Some(End::Done | End::Final))
    }
}

/// The attempt logs in `dir`, oldest first.
pub(crate) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && Path::new(&*name).extension().is_some_and(|e| e == "log") {
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The log that appeared since `known` was listed: that of the process started then. Not found by process id,
/// because ids come round again.
pub(crate) fn new_file(dir: &Path, known: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    Ok(files(dir)?.into_iter().find(|path| !known.contains(path)))
}

/// Reads one log. A line without its end is a write that never returned: it does not count.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Attempt>> {
    let bytes = std::fs::read(path)?;
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    parse(&String::from_utf8_lossy(&bytes[..whole])).map_err(|line| {
        io::Error::new(ErrorKind::InvalidData, format!("{}: cannot read `{line}`", path.display()))
    })
}

/// Keys of all activities in these logs that have their answer.
pub(crate) fn settled(attempts: &[Attempt]) -> BTreeSet<&str> {
    attempts.iter().filter(|a| a.is_settled()).map(|a| a.key.as_str()).collect()
}

/// What of one log had begun and not ended, as `charge_card ×3, reserve_stock ×1`, with the total.
pub(crate) fn in_flight(attempts: &[Attempt]) -> (usize, String) {
    let mut by_activity: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in attempts.iter().filter(|a| a.end.is_none()) {
        *by_activity.entry(&attempt.activity).or_default() += 1;
    }
    let names: Vec<String> = by_activity.iter().map(|(name, n)| format!("{name} ×{n}")).collect();
    (by_activity.values().sum(), names.join(", "))
}

/// Attempts that repeat an earlier one of the same key. `attempts` in the order in which they began; only
/// those from `from` on are counted.
pub(crate) fn repeated(attempts: &[Attempt], from: usize) -> usize {
    let mut seen = HashSet::new();
    attempts.iter().enumerate().filter(|(index, a)| !seen.insert(a.key.as_str()) && *index >= from).count()
}

fn stem(process: u32, turn: u32) -> String {
    if turn == 0 { format!("{PREFIX}{process}") } else { format!("{PREFIX}{process}-{turn}") }
}

fn parse(text: &str) -> Result<Vec<Attempt>, &str> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut open: BTreeMap<u64, usize> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[..] {
            ["start", workflow, activity, key, nonce] => {
                open.insert(nonce.parse().map_err(|_| line)?, attempts.len());
                let (workflow, activity, key) = (workflow.to_owned(), activity.to_owned(), key.to_owned());
                attempts.push(Attempt { workflow, activity, key, end: None });
            }
            ["end", _, _, _, nonce, word] => {
                let index = nonce.parse().ok().and_then(|n: u64| open.remove(&n)).ok_or(line)?;
                let end = [End::Done, End::Retry, End::Final].into_iter().find(|e| e.word() == word);
                attempts[index].end = Some(end.ok_or(line)?);
            }
            _ => return Err(line),
        }
    }
    Ok(attempts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_in_flight_and_repeats_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let log = AttemptLog::create(dir.path()).unwrap();
        let first = log.start("order-1", "charge_card", "k1").unwrap();
        log.start("order-2", "charge_card", "k2").unwrap();
        log.end("order-1", "charge_card", "k1", first, End::Retry).unwrap();
        let again = log.start("order-1", "charge_card", "k1").unwrap();
        log.end("order-1", "charge_card", "k1", again, End::Done).unwrap();
        (&log.file).write_all(b"start order-3 cut off").unwrap();

        let path = new_file(dir.path(), &[]).unwrap().unwrap();
        let attempts = read(&path).unwrap();
        assert_eq!(in_flight(&attempts), (1, "charge_card ×1".to_owned()));
        assert_eq!(settled(&attempts).into_iter().collect::<Vec<_>>(), ["k1"]);
        assert_eq!((repeated(&attempts, 0), repeated(&attempts, 3)), (1, 0));
    }

    #[test]
    fn a_second_process_of_the_same_id_gets_its_own_file() {
        let dir = tempfile::tempdir().unwrap();
        AttemptLog::create(dir.path()).unwrap();
        let known = files(dir.path()).unwrap();
        assert_eq!(new_file(dir.path(), &known).unwrap(), None);
        AttemptLog::create(dir.path()).unwrap();
        let path = new_file(dir.path(), &known).unwrap().unwrap();
        assert!(path.to_string_lossy().ends_with("-1.log"), "{path:?}");
    }
}
