//! Several processes, and several providers, on one file; processes that die.

use std::collections::HashSet;
use std::future::poll_fn;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::task::Poll;

use durable_core::id::{BuildId, EventId, Incarnation, SlotName, WorkflowId};
use durable_core::provider::{ErrorKind, HistoryRead, Inspect, WorkerRegistration, Workers, WorkflowStore};
use durable_sqlite::{SqliteOptions, SqliteProvider};

use crate::fixture::{claim, commit, open, start, start_params};

const DATABASE: &str = "DURABLE_TEST_DATABASE";
const ROLE: &str = "DURABLE_TEST_ROLE";

/// Starts this test binary again as a process that plays `role` on the database.
pub(crate) fn spawn(role: &str, database: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_process", "--ignored", "--nocapture"])
        .env(DATABASE, database)
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lines that a child says to its parent, without the test harness's own.
pub(crate) fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("say: ").map(|(_, said)| said.to_owned()))
}

pub(crate) fn say(text: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "say: {text}").unwrap();
    out.flush().unwrap();
}

#[tokio::test]
#[ignore = "run by the other tests, as a process of its own"]
async fn child_process() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let provider = open(Path::new(&database)).await;
    let worker = Incarnation::fresh();
    match std::env::var(ROLE).unwrap().as_str() {
        "migrate" => say("migrated"),
        "claim" => loop {
            let claimed = claim(&provider, worker, 2).await.unwrap();
            if claimed.runs.is_empty() {
                return;
            }
            for run in claimed.runs {
                commit(&provider, worker, &run, run.next_event, 100).await.unwrap();
                say(run.workflow_id);
            }
        },
        "hold" => {
            provider.worker_register(registration(worker)).await.unwrap();
            claim(&provider, worker, 100).await.unwrap();
            say("held");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "append" => {
            let run = claim(&provider, worker, 1).await.unwrap().runs.remove(0);
            let mut next = run.next_event;
            loop {
                next = commit(&provider, worker, &run, next, 3000).await.unwrap().next_event;
                say(next);
            }
        }
        "turns" => crate::kills::turns(&provider).await,
        role => panic!("unknown role {role}"),
    }
}

fn registration(incarnation: Incarnation) -> WorkerRegistration {
    WorkerRegistration {
        slot: Some(SlotName::new("blue").unwrap()),
        incarnation,
        build: BuildId::new("b1").unwrap(),
        now: None,
    }
}

#[tokio::test]
async fn four_processes_claim_each_run_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    for number in 0..40 {
        start(&provider, &format!("run-{number}"), 100).await.unwrap();
    }
    let mut children: Vec<_> = (0..4).map(|_| spawn("claim", &path)).collect();
    let mut all = Vec::new();
    for child in &mut children {
        all.extend(lines(child));
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(all.len(), 40);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_at_once_migrate_an_empty_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let mut children: Vec<_> = (0..4).map(|_| spawn("migrate", &path)).collect();
    let here: Vec<_> = (0..6)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { open(&path).await })
        })
        .collect();
    for opened in here {
        opened.await.unwrap();
    }
    for child in &mut children {
        assert_eq!(lines(child).collect::<Vec<_>>(), ["migrated"]);
        assert!(child.wait().unwrap().success());
    }
    start(&open(&path).await, "run", 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_with_their_own_connections_lose_nothing() {
    const EACH: u64 = 10;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    open(&path).await;
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let path = path.clone();
            tokio::spawn(async move {
                let provider = open(&path).await;
                let worker = Incarnation::fresh();
                let mut claimed = Vec::new();
                for number in 0..EACH {
                    start(&provider, &format!("run-{writer}-{number}"), 100).await.unwrap();
                    for run in claim(&provider, worker, 1).await.unwrap().runs {
                        commit(&provider, worker, &run, run.next_event, 100).await.unwrap();
                        claimed.push(run.instance);
                    }
                }
                claimed
            })
        })
        .collect();
    let mut all = Vec::new();
    for writer in writers {
        all.extend(writer.await.unwrap());
    }
    let provider = open(&path).await;
    all.extend(
        claim(&provider, Incarnation::fresh(), 1000).await.unwrap().runs.iter().map(|run| run.instance),
    );
    assert_eq!(all.len(), 80);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 80);
}

#[tokio::test]
async fn a_killed_process_frees_its_slot_and_its_successor_frees_its_claims() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    for id in ["a", "b"] {
        start(&provider, id, 1).await.unwrap();
    }
    let mut child = spawn("hold", &path);
    assert_eq!(lines(&mut child).next().unwrap(), "held");
    let error = provider.worker_register(registration(Incarnation::fresh())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    child.kill().unwrap();
    child.wait().unwrap();
    let worker = Incarnation::fresh();
    assert_eq!(provider.worker_register(registration(worker)).await.unwrap().freed, 2);
    let runs = claim(&provider, worker, 10).await.unwrap().runs;
    assert!(runs.len() == 2 && runs.iter().all(|run| run.owner_lost));
}

#[tokio::test]
async fn a_process_killed_while_it_commits_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let provider = open(&path).await;
    for round in 1..=6_usize {
        let id = format!("run-{round}");
        start(&provider, &id, 1).await.unwrap();
        let mut child = spawn("append", &path);
        let acknowledged = lines(&mut child).take(round * 3).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let view = provider.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().unwrap();
        let acknowledged: u64 = acknowledged.parse().unwrap();
        assert!(view.events + 1 >= acknowledged, "{} of {acknowledged}", view.events);
        let read = HistoryRead { run_id: view.run_id, from: EventId::FIRST, max_bytes: usize::MAX };
        assert_eq!(provider.history_read(read).await.unwrap().rows.len() as u64, view.events);
    }
}

/// Every await inside a transaction is a place where its caller may go away.
#[tokio::test]
async fn a_call_dropped_at_any_point_is_whole_or_absent_and_poisons_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let (provider, other) = (open(&path).await, open(&path).await);
    let (mut absent, mut finished) = (0, false);
    for polls in 1.. {
        let ids: Vec<_> = (0..4).map(|number| format!("run-{polls}-{number}")).collect();
        let starts = ids.iter().map(|id| start_params(id, 100)).collect();
        {
            let mut call = pin!(provider.workflow_start(starts));
            let mut left = polls;
            poll_fn(|context| {
                finished = call.as_mut().poll(context).is_ready();
                left -= 1;
                if finished || left == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        // The next caller, here and elsewhere, is not held up.
        start(&other, &format!("other-{polls}"), 1).await.unwrap();
        start(&provider, &format!("own-{polls}"), 1).await.unwrap();
        let mut found = 0;
        for id in ids {
            found +=
                usize::from(provider.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().is_some());
        }
        assert!(found == 0 || found == 4, "{found} after {polls} polls");
        absent += usize::from(found == 0);
        if finished {
            break;
        }
    }
    assert!(absent > 0, "no call was given up in the middle");
}

#[tokio::test]
async fn a_second_provider_sees_what_the_first_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("durable.db");
    let (writer, reader) =
        (open(&path).await, SqliteProvider::open(SqliteOptions::new(&path)).await.unwrap());
    for number in 0..20 {
        let id = format!("run-{number}");
        start(&writer, &id, 10).await.unwrap();
        assert!(reader.instance_find(&WorkflowId::new(id).unwrap()).await.unwrap().is_some());
    }
}
