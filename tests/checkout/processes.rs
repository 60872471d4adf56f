//! Whole runs: kills of the worker, kills of everything, runs on finished data, bad input.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{checkout, figure, report, run};
use crate::dice::Dice;

const GROUP_KILLS: u64 = 20;

fn assert_nothing_lost_or_doubled(report: &str) {
    assert_eq!((figure(report, "missing "), figure(report, "duplicates ")), (0, 0), "{report}");
    assert_eq!(figure(report, "orders "), 200, "{report}");
    assert_eq!(figure(report, "charges "), figure(report, "invoices "), "{report}");
    let ends = ["charges ", "refusals ", "out of stock "].map(|label| figure(report, label));
    assert!(ends.iter().all(|n| *n > 0) && ends.iter().sum::<usize>() == 200, "{report}");
}

fn assert_repeats_nothing(data: &Path) {
    let again = report(&run(&[], data));
    assert_nothing_lost_or_doubled(&again);
    assert!(again.contains("repeated attempts this run: 0, workflows started anew: 0\n"), "{again}");
}

#[test]
fn ten_kills_lose_and_double_nothing_and_a_run_on_finished_data_repeats_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let first = report(&run(&["--kills", "10"], &data));
    println!("{first}");
    assert_nothing_lost_or_doubled(&first);
    assert!(figure(&first, "repeated attempts ") > 0, "{first}");
    let kills: Vec<&str> = first.lines().filter(|line| line.starts_with("kill ")).collect();
    assert_eq!(kills.len(), 10, "{first}");
    for (index, line) in kills.iter().enumerate() {
        assert!(line.starts_with(&format!("kill {} of 10 ", index + 1)), "{line}");
        let in_flight = line.split(": ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!(in_flight.parse::<usize>().unwrap() >= 1, "{line}");
    }
    assert_repeats_nothing(&data);
}

/// Supervisor and worker die in the same instant, as when a machine's power is cut (but for the page cache).
#[test]
fn twenty_kills_of_the_whole_process_group_lose_and_double_nothing() {
    let seed = Dice::fresh_seed();
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut done = 0;
    for nth in 0..GROUP_KILLS {
        // Spread over the run, but each at random after what the last one left.
        let percent = 95 * (nth + 1) / GROUP_KILLS - dice.below(95 / GROUP_KILLS);
        done = run_until(percent, &data, seed + nth);
        println!("group kill {} after {done} steps", nth + 1);
    }
    assert!(done > 0);
    let last = report(&run(&["--kills", "0"], &data));
    println!("{last}");
    assert_nothing_lost_or_doubled(&last);
    assert_repeats_nothing(&data);
}

/// Starts the command in a process group of its own, and kills the group once the supervisor has seen, in the
/// attempt logs, `percent` of all steps done. Returns how many it had seen.
fn run_until(percent: u64, data: &Path, seed: u64) -> u64 {
    let mut supervisor = checkout()
        .args(["--kills", "10", "--seed", &seed.to_string(), "--data"])
        .arg(data)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reached = 0;
    // Held until after the kill: with the pipe gone, the supervisor could die of its next line instead.
    let mut lines = BufReader::new(supervisor.stdout.take().unwrap()).lines().map(Result::unwrap);
    for line in lines.by_ref() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["progress", done, "of", all, "steps"] = words[..] {
            reached = done.parse().unwrap();
            if reached * 100 >= percent * all.parse::<u64>().unwrap() {
                break;
            }
        }
    }
    let group = format!("-{}", supervisor.id());
    let kill = Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
    assert!(kill.success());
    let status = supervisor.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "the run ended before it could be killed");
    reached
}

/// Standard error of a run that must be refused.
fn refusal(args: &[&str], data: &Path) -> String {
    let output = run(args, data);
    assert!(output.status.code().is_some_and(|code| code != 0), "{args:?}: {}", output.status);
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let orders = dir.path().join("orders.csv");
    let path = orders.to_str().unwrap();
    assert!(refusal(&["--orders", path], &data).starts_with(&format!("error: cannot read {path}: ")));
    fs::write(dir.path().join("stock.csv"), "sku,on_hand\nMUG,5\n").unwrap();
    let header = "id,customer,email,sku,quantity,unit_cents,card\n";
    let row = "1,Ann,a@x,MUG,1,500,424242424242\n";
    fs::write(&orders, format!("{header}{row}2,Ann,a@x,MUG,none,500,424242424242\n")).unwrap();
    let error = refusal(&["--orders", path], &data);
    assert!(error.contains("line 3: quantity is `none`, not a whole number from 1 to 10000"), "{error}");
    fs::write(&orders, format!("{header}{row}{row}")).unwrap();
    let error = refusal(&["--orders", path], &data);
    assert!(error.contains("line 3: order id `1` was already used in line 2"), "{error}");
    fs::write(&orders, format!("{header}{row}")).unwrap();
    let error = refusal(&["--orders", path, "--kills", "2"], &data);
    assert!(error.contains("at most as many kills as orders"), "{error}");
    assert!(refusal(&["--kills", "-1"], &data).contains("--kills"));
    assert!(!data.exists(), "refused input left something behind");

    let error = refusal(&["--orders", path, "--kills", "0", "--fresh"], dir.path());
    assert!(error.contains("holds no data of this program"), "{error}");
    assert!(orders.exists());
}

#[test]
fn a_directory_begun_with_other_orders_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (data, orders) = (dir.path().join("data"), dir.path().join("orders.csv"));
    fs::write(dir.path().join("stock.csv"), "sku,on_hand\nMUG,5\n").unwrap();
    let args = ["--kills", "0", "--orders", orders.to_str().unwrap()];
    let header = "id,customer,email,sku,quantity,unit_cents,card\n";
    fs::write(&orders, format!("{header}1,\"O'Neill, \"\"S\"\"\n🦀\",a@x,MUG,1,500,424242424242\n")).unwrap();
    let first = report(&run(&args, &data));
    assert_eq!((figure(&first, "charges "), figure(&first, "missing ")), (1, 0), "{first}");
    fs::write(&orders, format!("{header}1,Ann,a@x,MUG,2,500,424242424242\n")).unwrap();
    assert!(refusal(&args, &data).contains("was begun with another"));
    let fresh = report(&run(&[&args[..], &["--fresh"]].concat(), &data));
    assert_eq!((figure(&fresh, "charges "), figure(&fresh, "duplicates ")), (1, 0), "{fresh}");
}
