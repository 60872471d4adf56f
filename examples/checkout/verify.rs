//! The verifier: recomputes from the orders and the stock what must have happened, and compares it with what the
//! ledger, the shop's database, the invoices and the attempt logs say did. It asks `durable` nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::attempts::{self, Attempt};
use crate::data::DataDir;
use crate::ledger::{self, Call, Outcome};
use crate::orders::{Order, Stock, card_is_refused, money};
use crate::shop::{self, Reservation, StockRow};

/// How an order has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Paid,
    Refused,
    OutOfStock,
}

/// All that is known from the outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) orders: Vec<Order>,
    pub(crate) stock: Stock,
    pub(crate) calls: Vec<Call>,
    pub(crate) stock_rows: Vec<StockRow>,
    pub(crate) reservations: Vec<Reservation>,
    /// Text by file name.
    pub(crate) invoices: BTreeMap<String, String>,
    /// In the order in which they began.
    pub(crate) attempts: Vec<Attempt>,
    /// How many of `attempts` were made before this run of the command.
    pub(crate) earlier_attempts: usize,
}

/// What the verifier found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) orders: usize,
    pub(crate) charges: usize,
    pub(crate) invoices: usize,
    pub(crate) refusals: usize,
    pub(crate) out_of_stock: usize,
    pub(crate) attempts: usize,
    pub(crate) repeated: usize,
    pub(crate) repeated_this_run: usize,
    pub(crate) started_this_run: usize,
    /// Effects that should be there and are not.
    pub(crate) missing: Vec<String>,
    /// Effects that are there twice, or should not be there, or are not as ordered.
    pub(crate) duplicates: Vec<String>,
}

impl Verdict {
    pub(crate) fn is_clean(&self) -> bool {
        self.missing.is_empty() && self.duplicates.is_empty()
    }
}

/// How an order has to end, whatever the order in which they are served: stock is asked before the card, and
/// `orders::read` has made sure that nobody goes short because of somebody else.
pub(crate) fn expected(order: &Order, stock: &Stock) -> Expected {
    if stock.get(&order.sku).is_none_or(|on_hand| order.quantity > *on_hand) {
        Expected::OutOfStock
    } else if card_is_refused(&order.card) {
        Expected::Refused
    } else {
        Expected::Paid
    }
}

/// How many activities all orders need: reserve, charge, and then invoice or release.
pub(crate) fn steps(orders: &[Order], stock: &Stock) -> usize {
    orders.iter().map(|order| if expected(order, stock) == Expected::OutOfStock { 1 } else { 3 }).sum()
}

impl Evidence {
    /// Reads the data directory. `earlier` are the attempt logs that were there before this run.
    pub(crate) fn gather(
        data: &DataDir,
        orders: Vec<Order>,
        stock: Stock,
        earlier: &[PathBuf],
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stock_rows, reservations) =
            runtime.block_on(shop::dump(&data.shop())).context("cannot read the shop's database")?;
        let calls = ledger::read(&data.ledger()).context("cannot read the ledger")?;
        let invoices = read_invoices(&data.invoices()).context("cannot read the invoices")?;
        let logs = attempts::files(data.path()).context("cannot list the attempt logs")?;
        let (old, new): (Vec<_>, Vec<_>) = logs.into_iter().partition(|log| earlier.contains(log));
        let mut attempts = read_logs(&old)?;
        let earlier_attempts = attempts.len();
        attempts.extend(read_logs(&new)?);
        Ok(Self { orders, stock, calls, stock_rows, reservations, invoices, attempts, earlier_attempts })
    }
}

/// Compares what had to happen with what did.
pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict { orders: evidence.orders.len(), ..count_attempts(evidence) };
    let effects = Effects::of(evidence);
    for order in &evidence.orders {
        match expected(order, &evidence.stock) {
            Expected::Paid => judge_paid(order, &effects, &mut verdict),
            Expected::Refused => judge_refused(order, &effects, &mut verdict),
            Expected::OutOfStock => judge_out_of_stock(order, &effects, &mut verdict),
        }
    }
    judge_strangers(evidence, &mut verdict);
    judge_stock(evidence, &mut verdict);
    judge_keys(evidence, &mut verdict);
    verdict.charges = evidence.calls.iter().filter(|call| call.outcome == Outcome::Charged).count();
    verdict.invoices = evidence.invoices.len();
    verdict
}

/// The evidence by order.
struct Effects<'a> {
    charges: BTreeMap<&'a str, Vec<&'a Call>>,
    refused: BTreeSet<&'a str>,
    reservations: BTreeMap<&'a str, Vec<&'a Reservation>>,
    invoices: &'a BTreeMap<String, String>,
    settled: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Effects<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let mut charges: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        let mut reservations: BTreeMap<&str, Vec<&Reservation>> = BTreeMap::new();
        for call in evidence.calls.iter().filter(|call| call.outcome == Outcome::Charged) {
            charges.entry(&call.order).or_default().push(call);
        }
        for reservation in &evidence.reservations {
            reservations.entry(&reservation.order).or_default().push(reservation);
        }
        let refused =
            evidence.calls.iter().filter(|c| c.outcome == Outcome::Refused).map(|c| c.order.as_str());
        let settled = evidence.attempts.iter().filter(|a| a.is_settled());
        Self {
            charges,
            refused: refused.collect(),
            reservations,
            invoices: &evidence.invoices,
            settled: settled.map(|a| (a.workflow.as_str(), a.activity.as_str())).collect(),
        }
    }

    fn charges(&self, order: &Order) -> &[&'a Call] {
        self.charges.get(order.id.as_str()).map_or(&[], Vec::as_slice)
    }

    fn reservations(&self, order: &Order) -> &[&'a Reservation] {
        self.reservations.get(order.id.as_str()).map_or(&[], Vec::as_slice)
    }

    fn invoice(&self, order: &Order) -> Option<&'a str> {
        self.invoices.get(&format!("{}.txt", order.id)).map(String::as_str)
    }
}

fn judge_paid(order: &Order, effects: &Effects<'_>, verdict: &mut Verdict) {
    let id = &order.id;
    judge_reservation(order, false, effects, verdict);
    match effects.charges(order) {
        [] => verdict.missing.push(format!("order {id}: not charged")),
        [charge] => {
            if charge.cents != order.cents() {
                let (charged, due) = (money(charge.cents), money(order.cents()));
                verdict.duplicates.push(format!("order {id}: charged {charged} instead of {due}"));
            }
        }
        more => verdict.duplicates.push(format!("order {id}: charged {} times", more.len())),
    }
    match effects.invoice(order) {
        None => verdict.missing.push(format!("order {id}: no invoice")),
        Some(text) => {
            if let Some(fault) = invoice_fault(order, text, effects.charges(order)) {
                verdict.duplicates.push(format!("order {id}: its invoice has {fault}"));
            }
        }
    }
}

fn judge_refused(order: &Order, effects: &Effects<'_>, verdict: &mut Verdict) {
    judge_reservation(order, true, effects, verdict);
    if effects.refused.contains(order.id.as_str()) {
        verdict.refusals += 1;
    } else {
        verdict.missing.push(format!("order {}: its card was never refused", order.id));
    }
    judge_no_payment(order, "although its card is refused", effects, verdict);
}

fn judge_out_of_stock(order: &Order, effects: &Effects<'_>, verdict: &mut Verdict) {
    let id = &order.id;
    if effects.settled.contains(&(order.workflow_id().as_str(), "reserve_stock")) {
        verdict.out_of_stock += 1;
    } else {
        verdict.missing.push(format!("order {id}: the shop was never asked for stock"));
    }
    if !effects.reservations(order).is_empty() {
        verdict.duplicates.push(format!("order {id}: stock reserved that is not there"));
    }
    judge_no_payment(order, "although it is out of stock", effects, verdict);
}

fn judge_reservation(order: &Order, released: bool, effects: &Effects<'_>, verdict: &mut Verdict) {
    let id = &order.id;
    match effects.reservations(order) {
        [] => verdict.missing.push(format!("order {id}: no stock reserved")),
        [one] if (&one.sku, one.quantity) != (&order.sku, order.quantity) => {
            verdict.duplicates.push(format!("order {id}: {} of {} reserved", one.quantity, one.sku));
        }
        [one] if one.released && !released => {
            verdict.duplicates.push(format!("order {id}: stock given back although it was paid"));
        }
        [one] if !one.released && released => {
            verdict.duplicates.push(format!("order {id}: stock not given back"));
        }
        [_] => {}
        more => verdict.duplicates.push(format!("order {id}: stock reserved {} times", more.len())),
    }
}

fn judge_no_payment(order: &Order, although: &str, effects: &Effects<'_>, verdict: &mut Verdict) {
    if !effects.charges(order).is_empty() {
        verdict.duplicates.push(format!("order {}: charged {although}", order.id));
    }
    if effects.invoice(order).is_some() {
        verdict.duplicates.push(format!("order {}: has an invoice {although}", order.id));
    }
}

/// The first line of an invoice that is not as it should be.
fn invoice_fault(order: &Order, text: &str, charges: &[&Call]) -> Option<String> {
    let mut lines = text.lines();
    let charge = charges.first().and_then(|call| call.charge.as_ref()).map_or("", |charge| &charge.0);
    let head = [
        format!("Invoice: {}", order.id),
        format!("Charge: {charge}"),
        format!("Total: {} EUR", money(order.cents())),
    ];
    for wanted in head {
        let line = lines.next().unwrap_or_default();
        if line != wanted {
            return Some(format!("`{line}` instead of `{wanted}`"));
        }
    }
    let foot = format!("\n\nFor {} <{}>\n", order.customer, order.email);
    (!text.ends_with(&foot)).then(|| "another addressee".to_owned())
}

/// Effects for orders that nobody gave.
fn judge_strangers(evidence: &Evidence, verdict: &mut Verdict) {
    let known: BTreeSet<&str> = evidence.orders.iter().map(|order| order.id.as_str()).collect();
    let charged = evidence.calls.iter().map(|c| ("ledger call", c.order.as_str()));
    let reserved = evidence.reservations.iter().map(|r| ("reservation", r.order.as_str()));
    let invoiced = evidence.invoices.keys().map(|name| ("invoice", name.trim_end_matches(".txt")));
    for (what, order) in charged.chain(reserved).chain(invoiced) {
        if !known.contains(order) {
            verdict.duplicates.push(format!("{what} for an order `{order}` that nobody gave"));
        }
    }
}

/// Stock on hand must be what there was less what is reserved.
fn judge_stock(evidence: &Evidence, verdict: &mut Verdict) {
    let mut held: BTreeMap<&str, u32> = BTreeMap::new();
    for reservation in evidence.reservations.iter().filter(|r| !r.released) {
        *held.entry(&reservation.sku).or_default() += reservation.quantity;
    }
    let rows: BTreeMap<&str, &StockRow> =
        evidence.stock_rows.iter().map(|row| (row.sku.as_str(), row)).collect();
    for (sku, initial) in &evidence.stock {
        let held = held.get(sku.as_str()).copied().unwrap_or_default();
        match rows.get(sku.as_str()) {
            None => verdict.missing.push(format!("SKU {sku}: not in the shop's database")),
            Some(row) if row.initial != *initial || row.on_hand + held != *initial => {
                let (on_hand, was) = (row.on_hand, row.initial);
                verdict.duplicates.push(format!("SKU {sku}: {on_hand} on hand and {held} reserved of {was}"));
            }
            Some(_) => {}
        }
    }
}

/// A workflow takes each of its steps once, so a second key for one of them means that the step, or the whole
/// workflow, was begun a second time as if it were another.
fn judge_keys(evidence: &Evidence, verdict: &mut Verdict) {
    let mut keys: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for attempt in &evidence.attempts {
        keys.entry((&attempt.workflow, &attempt.activity)).or_default().insert(&attempt.key);
    }
    for ((workflow, activity), keys) in keys.iter().filter(|(_, keys)| keys.len() > 1) {
        verdict.duplicates.push(format!("{workflow}: {activity} was tried under {} keys", keys.len()));
    }
}

fn count_attempts(evidence: &Evidence) -> Verdict {
    let workflows = |list: &[Attempt]| list.iter().map(|a| a.workflow.clone()).collect::<BTreeSet<_>>().len();
    let earlier = &evidence.attempts[..evidence.earlier_attempts];
    Verdict {
        attempts: evidence.attempts.len(),
        repeated: attempts::repeated(&evidence.attempts, 0),
        repeated_this_run: attempts::repeated(&evidence.attempts, evidence.earlier_attempts),
        started_this_run: workflows(&evidence.attempts) - workflows(earlier),
        ..Verdict::default()
    }
}

fn read_invoices(dir: &Path) -> Result<BTreeMap<String, String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut invoices = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A draft is what a death left of an invoice that was then written again.
        if path.extension().is_some_and(|extension| extension == "txt") {
            let text = fs::read(&path).with_context(|| name.clone())?;
            invoices.insert(name, String::from_utf8_lossy(&text).into_owned());
        }
    }
    Ok(invoices)
}

fn read_logs(logs: &[PathBuf]) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for log in logs {
        attempts.extend(attempts::read(log).with_context(|| format!("cannot read {}", log.display()))?);
    }
    Ok(attempts)
}
