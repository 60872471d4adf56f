//! The table as text.

use std::fmt::Write as _;
use std::time::Duration;

use crate::args::Work;
use crate::report::{Goal, Line, Report};
use crate::sample::per;

const HEAD: [&str; 11] = [
    "",
    "total",
    "unit",
    "commits",
    "flushes",
    "statements",
    "turns",
    "turns/commit",
    "history",
    "CPU/step",
    "what",
];

/// The report for people; it is Markdown too.
pub(crate) fn text(report: &Report) -> String {
    let mut rows = vec![HEAD.map(str::to_owned), HEAD.map(|_| String::new())];
    rows.extend(report.lines.iter().map(row));
    let floor = &report.floor;
    rows.push(bare(format!("{:.0}/s", floor.commits_per_second), "a bare commit: one row, one statement"));
    if let Some(row) = rows.last_mut() {
        row[9] = micros(floor.commit_cpu);
    }
    rows.push(bare(
        format!("{:.0}/s", floor.transactions_per_second),
        "a bare transaction: begin, one row, commit",
    ));
    rows.push(bare(format!("{:.0}/s", floor.rows_per_second), "a bare row, 100 in a transaction"));
    let mut out = format!("{}; medians of {} rounds\n\n", report.machine, report.rounds);
    write_rows(&mut out, &rows);
    out.push('\n');
    let mut rows = vec![["result", "median", "range", "goal", ""].map(str::to_owned)];
    rows.push(["", "", "", "", ""].map(str::to_owned));
    rows.extend(report.ratios.iter().map(|ratio| {
        let goal = ratio.goal.map_or_else(String::new, |goal| match goal {
            Goal::AtMost(limit) => format!("at most {limit}"),
            Goal::AtLeast(limit) => format!("at least {limit}"),
        });
        let holds = ratio.holds().map_or("", |holds| if holds { "holds" } else { "MISSED" });
        let range = format!("{:.2} to {:.2}", ratio.least, ratio.most);
        [ratio.what.to_owned(), format!("{:.2}", ratio.median), range, goal, holds.to_owned()]
    }));
    write_rows(&mut out, &rows);
    out
}

fn row(line: &Line) -> [String; 11] {
    let counts = &line.counts;
    [
        format!("{:?}", line.work),
        millis(line.wall),
        format!("{} a {}", micros(line.unit), if line.work == Work::W3 { "run" } else { "step" }),
        counts.commits.to_string(),
        counts.flushes.to_string(),
        counts.statements.to_string(),
        counts.turns.to_string(),
        format!("{:.2}", per(counts.turns, counts.commits)),
        format!("{} B", counts.history_bytes),
        micros(line.cpu_per_step),
        line.what.to_owned(),
    ]
}

fn bare(per_second: String, what: &str) -> [String; 11] {
    let mut row = HEAD.map(|_| String::new());
    "floor".clone_into(&mut row[0]);
    row[2] = per_second;
    what.clone_into(&mut row[10]);
    row
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

fn micros(time: Duration) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6)
}

/// Rows of a Markdown table, aligned; the second one is the line under the head.
fn write_rows<const N: usize>(out: &mut String, rows: &[[String; N]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for (index, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(widths) {
            let padded = if index == 1 { "-".repeat(width.max(3)) } else { format!("{cell:<width$}") };
            // Writing to a string cannot fail.
            let _written = write!(out, "| {padded} ");
        }
        out.push_str("|\n");
    }
}
