//! The report at the end.

use std::fmt::Write;

use crate::supervisor::Course;
use crate::verify::Verdict;

/// Findings beyond this many are only counted.
const SHOWN: usize = 20;

/// The report as text, one figure a line.
pub(crate) fn render(verdict: &Verdict, course: &Course) -> String {
    let mut text =
        String::from("\nVerified from the orders, the ledger, the shop's database and the invoices:\n");
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "  {label:<19}{value}");
    };
    line("orders", verdict.orders.to_string());
    line("charges", verdict.charges.to_string());
    line("invoices", verdict.invoices.to_string());
    line("refusals", verdict.refusals.to_string());
    line("out of stock", verdict.out_of_stock.to_string());
    line("attempts", verdict.attempts.to_string());
    line("repeated attempts", verdict.repeated.to_string());
    line("kills", format!("{} of {}", course.kills, course.kills_wanted));
    line("missing", verdict.missing.len().to_string());
    line("duplicates", verdict.duplicates.len().to_string());
    line("time", format!("{:.1} s", course.time.as_secs_f64()));
    let _ = writeln!(
        text,
        "repeated attempts this run: {}, workflows started anew: {}",
        verdict.repeated_this_run, verdict.started_this_run
    );
    if course.kills < course.kills_wanted {
        let _ = writeln!(text, "{}", shortfall(course));
    }
    findings(&mut text, "missing", &verdict.missing);
    findings(&mut text, "duplicate or wrong", &verdict.duplicates);
    text
}

fn shortfall(course: &Course) -> &'static str {
    if course.had_work {
        "The work ran out before the last kill."
    } else {
        "Every order had already ended, so there was nothing to kill for; --fresh begins again."
    }
}

fn findings(text: &mut String, label: &str, list: &[String]) {
    for finding in list.iter().take(SHOWN) {
        let _ = writeln!(text, "{label}: {finding}");
    }
    if list.len() > SHOWN {
        let _ = writeln!(text, "{label}: and {} more", list.len() - SHOWN);
    }
}
