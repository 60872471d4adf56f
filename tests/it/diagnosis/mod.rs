//! What is said of code that no longer fits: one text per kind of edit.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fmt::Write as _;
use std::time::Duration;

use durable::history::{Event, EventKind};
use durable::limits::HistoryLimits;
use durable::prelude::*;
use durable_core::engine::Strictness;
use durable_core::workflow::{LiveRun, RunOptions, entry_of};
use expect_test::Expect;

use crate::harness::{Run, identity};

mod activities;
mod others;
mod strict;

#[activity]
pub(crate) async fn charge(_ctx: &ActivityContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

#[activity]
pub(crate) async fn ship(_ctx: &ActivityContext) -> Result<u64, String> {
    Ok(1)
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

fn reason<W: Workflow>(history: &[Event], strictness: Strictness) -> String {
    let options = RunOptions { limits: HistoryLimits::default(), strictness };
    match LiveRun::load(Some(&entry_of::<W>()), identity(), history.to_vec(), options) {
        Ok(_) => "fits".to_owned(),
        Err(failure) => located(&failure.reason),
    }
}

/// Lines and columns of this file change with every edit of it.
fn located(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.split_once(".rs:") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
                let _infallible = writeln!(out, "{before}.rs:LINE{after}");
            }
            None => {
                let _infallible = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// Records a run of one workflow with these turns after the first, and says how another fits it.
pub(crate) fn edit<Was: Workflow<Input = ()>, Is: Workflow>(
    turns: Vec<EventKind>,
    strictness: Strictness,
    expected: &Expect,
) {
    let mut run = Run::<Was>::new(&());
    run.turn([]);
    for input in turns {
        run.turn([input]);
    }
    assert_eq!(reason::<Was>(&run.history, Strictness::Refuse), "fits");
    let said = reason::<Is>(&run.history, strictness);
    assert_eq!(reason::<Is>(&run.history, strictness), said, "the same words each time");
    if strictness == Strictness::Refuse {
        assert_eq!(reason::<Is>(&run.history, Strictness::Tell), "fits", "only strict replay refuses it");
    }
    expected.assert_eq(&said);
}
