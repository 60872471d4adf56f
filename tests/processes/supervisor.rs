//! Starts children until one comes to its end, and keeps account of what was done and what was recorded.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;

use durable::Durable;
use durable::history::{Event, decode_batch};
use durable::id::{EventId, WorkflowId};
use durable::provider::{HistoryRead, Inspect, Provider};
use durable_sqlite::SqliteProvider;

use crate::child::{DATABASE, EFFECTS, NAME, UNTIL, open};

/// More lives than any test here needs: beyond them the work does not end.
const LIVES_MAX: u32 = 60;
const SIGABRT: i32 = 6;

pub(crate) struct Supervisor {
    pub(crate) durable: Durable,
    provider: Arc<SqliteProvider>,
    files: tempfile::TempDir,
    /// Attempts that were made of an activity when its outcome was found recorded.
    settled: HashMap<(String, u64), usize>,
}

impl Supervisor {
    pub(crate) async fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        let provider = open(&files.path().join("test.db")).await;
        let durable = Durable::with_provider(Arc::<SqliteProvider>::clone(&provider) as Arc<dyn Provider>);
        Self { durable, provider, files, settled: HashMap::new() }
    }

    fn effects_file(&self) -> PathBuf {
        self.files.path().join("effects")
    }

    /// What the children noted, as words.
    pub(crate) fn effects(&self) -> Vec<[String; 4]> {
        let text = std::fs::read_to_string(self.effects_file()).unwrap_or_default();
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
        text.lines().map(words).collect()
    }

    /// How often the children began `what`.
    pub(crate) fn begun(&self, what: &str) -> usize {
        self.effects().iter().filter(|[_, _, name, _]| name == what).count()
    }

    fn child(&self, until: &[String]) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--ignored", "--nocapture"])
            .env(DATABASE, self.files.path().join("test.db"))
            .env(EFFECTS, self.effects_file())
            .env(UNTIL, until.join(" "))
            .output()
            .unwrap()
    }

    /// Starts one child after the other until these workflows have ended. Returns how many aborted.
    pub(crate) async fn run_until_ended(&mut self, until: &[String]) -> u32 {
        for aborts in 0..LIVES_MAX {
            let output = self.child(until);
            self.take_stock(until).await;
            if output.status.success() {
                return aborts;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(SIGABRT), "life {aborts}: {}\n{said}", output.status);
        }
        panic!("{LIVES_MAX} lives did not bring {until:?} to their ends");
    }

    /// Notes which outcomes are recorded now.
    async fn take_stock(&mut self, ids: &[String]) {
        for id in ids {
            for event in self.history(id).await {
                let Some(command) = event.kind.settled_activity() else { continue };
                let made = self.attempts_of(id, command.0);
                self.settled.entry((id.clone(), command.0)).or_insert(made);
            }
        }
    }

    pub(crate) async fn history(&self, id: &str) -> Vec<Event> {
        let view = self.provider.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().unwrap();
        let read = HistoryRead { run_id: view.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        let page = self.provider.history_read(read).await.unwrap();
        page.rows.iter().flat_map(|row| decode_batch(row).unwrap()).collect()
    }

    fn attempts_of(&self, id: &str, command: u64) -> usize {
        let command = command.to_string();
        self.effects().iter().filter(|[workflow, of, ..]| workflow == id && *of == command).count()
    }

    /// What was recorded before a crash was not done again after it.
    pub(crate) fn assert_nothing_recorded_was_redone(&self, at_least: usize) {
        assert!(self.settled.len() >= at_least, "{} outcomes", self.settled.len());
        for ((id, command), made) in &self.settled {
            assert_eq!(self.attempts_of(id, *command), *made, "{id}, command {command} was made again");
        }
    }
}
