//! The input: orders and stock as CSV, read strictly. Knows nothing of shops, ledgers or workflows.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde::{Deserialize, Serialize};

/// What is on hand before the first order, by SKU.
pub(crate) type Stock = BTreeMap<String, u32>;

const ORDER_COLUMNS: [&str; 7] = ["id", "customer", "email", "sku", "quantity", "unit_cents", "card"];
const STOCK_COLUMNS: [&str; 2] = ["sku", "on_hand"];

/// One row of the orders file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) email: String,
    pub(crate) sku: String,
    pub(crate) quantity: u32,
    pub(crate) unit_cents: u64,
    pub(crate) card: String,
}

impl Order {
    /// What the whole order costs. Cannot overflow: both factors are bounded when the row is read.
    pub(crate) fn cents(&self) -> u64 {
        u64::from(self.quantity) * self.unit_cents
    }

    /// The shop's name for the workflow, so that a resubmitted order finds the run it already has.
    pub(crate) fn workflow_id(&self) -> String {
        format!("order-{}", self.id)
    }
}

/// Cards of this invented bank that end so are refused for good, whatever is charged.
pub(crate) fn card_is_refused(card: &str) -> bool {
    card.ends_with("0002")
}

/// Reads orders and the stock they draw on, and refuses input whose outcome nobody could predict.
pub(crate) fn read(orders: &Path, stock: &Path) -> Result<(Vec<Order>, Stock)> {
    // The file that the user named comes first: if both are missing, that is the one to speak of.
    let rows = rows(orders, &ORDER_COLUMNS)?;
    let on_hand = read_stock(stock)?;
    let list = parse_orders(orders, &rows, &on_hand)?;
    refuse_contention(&list, &on_hand)?;
    Ok((list, on_hand))
}

/// 1234 cents as `12.34`.
pub(crate) fn money(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn parse_orders(path: &Path, rows: &[(u64, StringRecord)], stock: &Stock) -> Result<Vec<Order>> {
    let mut list = Vec::new();
    let mut seen = HashMap::new();
    for &(line, ref row) in rows {
        let order = order(row).with_context(|| at(path, line))?;
        ensure!(
            stock.contains_key(&order.sku),
            "{}: the stock file knows no SKU `{}`",
            at(path, line),
            order.sku
        );
        if let Some(earlier) = seen.insert(order.id.clone(), line) {
            bail!("{}: order id `{}` was already used in line {earlier}", at(path, line), order.id);
        }
        list.push(order);
    }
    ensure!(!list.is_empty(), "{} holds no orders", path.display());
    Ok(list)
}

fn read_stock(path: &Path) -> Result<Stock> {
    let mut stock = Stock::new();
    for (line, row) in rows(path, &STOCK_COLUMNS)? {
        let sku = text(&row, 0, "sku", 64).with_context(|| at(path, line))?;
        let on_hand = number(&row, 1, "on_hand", 0, 1_000_000).with_context(|| at(path, line))?;
        ensure!(
            stock.insert(sku.clone(), u32::try_from(on_hand)?).is_none(),
            "{}: SKU `{sku}` is listed twice",
            at(path, line)
        );
    }
    Ok(stock)
}

fn order(row: &StringRecord) -> Result<Order> {
    let id = text(row, 0, "id", 64)?;
    // It names the invoice's file and, with a prefix, the workflow.
    ensure!(
        id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
        "id `{id}` may hold only letters, digits, `-` and `_`"
    );
    let card = text(row, 6, "card", 19)?;
    ensure!(card.len() >= 12 && card.bytes().all(|b| b.is_ascii_digit()), "card must be 12 to 19 digits");
    Ok(Order {
        id,
        customer: text(row, 1, "customer", 1000)?,
        email: text(row, 2, "email", 254)?,
        sku: text(row, 3, "sku", 64)?,
        quantity: u32::try_from(number(row, 4, "quantity", 1, 10_000)?)?,
        unit_cents: number(row, 5, "unit_cents", 1, 100_000_000)?,
        card,
    })
}

/// With more wanted than there is, who goes short would depend on who comes first, and no verifier could
/// say what is right. An order above the whole stock is fine: it goes short in any order.
fn refuse_contention(orders: &[Order], stock: &Stock) -> Result<()> {
    let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
    for order in orders.iter().filter(|o| stock.get(&o.sku).is_some_and(|n| o.quantity <= *n)) {
        *wanted.entry(&order.sku).or_default() += u64::from(order.quantity);
    }
    for (sku, sum) in wanted {
        let on_hand = stock.get(sku).copied().unwrap_or_default();
        ensure!(
            sum <= u64::from(on_hand),
            "SKU `{sku}`: the orders that could be met ask for {sum} in all, but only {on_hand} are on hand; who \
             goes short would be a matter of luck, so raise the stock or shrink the orders"
        );
    }
    Ok(())
}

/// Every row with the line it starts in; the header is checked and left out.
fn rows(path: &Path, columns: &[&str]) -> Result<Vec<(u64, StringRecord)>> {
    // No trimming: blanks around a name are part of the name.
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .from_path(path)
        .map_err(|error| csv_error(path, &error))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let row = record.map_err(|error| csv_error(path, &error))?;
        rows.push((row.position().map_or(0, csv::Position::line), row));
    }
    let header = if rows.is_empty() { StringRecord::new() } else { rows.remove(0).1 };
    ensure!(
        header.iter().eq(columns.iter().copied()),
        "{}: the first line must be `{}`",
        path.display(),
        columns.join(",")
    );
    Ok(rows)
}

fn csv_error(path: &Path, error: &csv::Error) -> anyhow::Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        ErrorKind::Io(io) => anyhow::anyhow!("{io}"),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            anyhow::anyhow!("{}: {len} fields where {expected_len} are expected", at(path, line))
        }
        ErrorKind::Utf8 { err, .. } => {
            anyhow::anyhow!("{}: field {} is not UTF-8", at(path, line), err.field() + 1)
        }
        _ => anyhow::anyhow!("{}: {error}", at(path, line)),
    }
}

fn text(row: &StringRecord, index: usize, column: &str, max_bytes: usize) -> Result<String> {
    let value = row.get(index).unwrap_or_default();
    ensure!(!value.is_empty(), "{column} is empty");
    ensure!(
        value.len() <= max_bytes,
        "{column} is {} bytes long, at most {max_bytes} are allowed",
        value.len()
    );
    Ok(value.to_owned())
}

fn number(row: &StringRecord, index: usize, column: &str, min: u64, max: u64) -> Result<u64> {
    let value = row.get(index).unwrap_or_default();
    match value.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => bail!("{column} is `{value}`, not a whole number from {min} to {max}"),
    }
}

fn at(path: &Path, line: u64) -> String {
    format!("{}, line {line}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "id,customer,email,sku,quantity,unit_cents,card\n";
    const GOOD: &str = "1,Ann,a@x,MUG,2,500,424242424242\n";

    fn outcome(orders: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let (path, stock) = (dir.path().join("orders.csv"), dir.path().join("stock.csv"));
        std::fs::write(&path, orders).unwrap();
        std::fs::write(&stock, "sku,on_hand\nMUG,5\n").unwrap();
        match read(&path, &stock) {
            Ok((list, _)) => format!("{} orders", list.len()),
            Err(error) => format!("{error:#}").replace(&format!("{}/", dir.path().display()), ""),
        }
    }

    #[test]
    fn bad_rows_are_named_by_line_and_cause() {
        let rows = |rows: &str| outcome(&format!("{HEADER}{GOOD}{rows}"));
        assert_eq!(rows(""), "1 orders");
        assert_eq!(
            rows("2,Ann,a@x,MUG,x,5,424242424242\n"),
            "orders.csv, line 3: quantity is `x`, not a whole number from 1 to 10000"
        );
        assert_eq!(
            rows("2,\"A\nB\",a@x,MUG,1,5,424242424242\n3,C,c@x,MUG,1,-5,424242424242\n"),
            "orders.csv, line 5: unit_cents is `-5`, not a whole number from 1 to 100000000"
        );
        assert_eq!(rows("2,Ann\n"), "orders.csv, line 3: 2 fields where 7 are expected");
        assert_eq!(rows(GOOD), "orders.csv, line 3: order id `1` was already used in line 2");
        assert_eq!(
            rows("2,Ann,a@x,CUP,1,5,424242424242\n"),
            "orders.csv, line 3: the stock file knows no SKU `CUP`"
        );
        assert_eq!(
            rows("../2,Ann,a@x,MUG,1,5,424242424242\n"),
            "orders.csv, line 3: id `../2` may hold only letters, digits, `-` and `_`"
        );
        assert_eq!(rows("2,,a@x,MUG,1,5,424242424242\n"), "orders.csv, line 3: customer is empty");
        assert_eq!(
            rows("2,Ann,a@x,MUG,1,5,4242-4242-4242\n"),
            "orders.csv, line 3: card must be 12 to 19 digits"
        );
        assert!(
            rows("2,Ann,a@x,MUG,4,5,424242424242\n")
                .starts_with("SKU `MUG`: the orders that could be met ask for 6")
        );
    }

    #[test]
    fn files_without_orders_are_refused() {
        assert_eq!(outcome(HEADER), "orders.csv holds no orders");
        assert_eq!(
            outcome(""),
            "orders.csv: the first line must be `id,customer,email,sku,quantity,unit_cents,card`"
        );
        assert_eq!(
            outcome(GOOD),
            "orders.csv: the first line must be `id,customer,email,sku,quantity,unit_cents,card`"
        );
    }
}
