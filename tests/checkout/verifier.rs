//! The verifier finds what is planted: a verifier that never complains proves nothing.

use crate::attempts::{Attempt, End};
use crate::ledger::{Call, ChargeId, Outcome};
use crate::orders::Order;
use crate::shop::{Reservation, StockRow};
use crate::verify::{Evidence, Verdict, judge};

/// Three orders that went as they should: 1 paid, 2 refused, 3 out of stock.
fn clean() -> Evidence {
    let order = |id: &str, quantity, card: &str| Order {
        id: id.to_owned(),
        customer: "Zoë\n\"Tiny\"".to_owned(),
        email: "z@example.com".to_owned(),
        sku: "MUG".to_owned(),
        quantity,
        unit_cents: 1234,
        card: card.to_owned(),
    };
    let attempt = |workflow: &str, activity: &str, end| Attempt {
        workflow: workflow.to_owned(),
        activity: activity.to_owned(),
        key: format!("{workflow}/{activity}"),
        end: Some(end),
    };
    Evidence {
        orders: vec![
            order("1", 2, "424242424242"),
            order("2", 1, "400000000002"),
            order("3", 11, "424242424242"),
        ],
        stock: [("MUG".to_owned(), 10)].into(),
        calls: vec![
            call("1", Outcome::FailedBefore, 2468, None),
            call("1", Outcome::Charged, 2468, Some("ch_1")),
            call("1", Outcome::Repeated, 2468, Some("ch_1")),
            call("2", Outcome::Refused, 1234, None),
        ],
        stock_rows: vec![StockRow { sku: "MUG".to_owned(), initial: 10, on_hand: 8 }],
        reservations: vec![reservation("1", 2, false), reservation("2", 1, true)],
        invoices: [("1.txt".to_owned(), invoice("ch_1", "24.68"))].into(),
        attempts: vec![
            attempt("order-1", "reserve_stock", End::Done),
            attempt("order-1", "charge_card", End::Retry),
            attempt("order-2", "charge_card", End::Final),
            attempt("order-3", "reserve_stock", End::Final),
            attempt("order-1", "charge_card", End::Done),
        ],
        earlier_attempts: 4,
    }
}

fn call(order: &str, outcome: Outcome, cents: u64, charge: Option<&str>) -> Call {
    Call {
        outcome,
        key: format!("key of {order}"),
        order: order.to_owned(),
        cents,
        charge: charge.map(|id| ChargeId(id.to_owned())),
        answer_lost: false,
    }
}

fn reservation(order: &str, quantity: u32, released: bool) -> Reservation {
    Reservation { order: order.to_owned(), sku: "MUG".to_owned(), quantity, released }
}

fn invoice(charge: &str, total: &str) -> String {
    format!(
        "Invoice: 1\nCharge: {charge}\nTotal: {total} EUR\n\n2 x MUG\n\nFor Zoë\n\"Tiny\" <z@example.com>\n"
    )
}

/// What the verifier says once `plant` has had its way.
fn after(plant: impl FnOnce(&mut Evidence)) -> Verdict {
    let mut evidence = clean();
    plant(&mut evidence);
    judge(&evidence)
}

fn assert_missing(plant: impl FnOnce(&mut Evidence), finding: &str) {
    let verdict = after(plant);
    assert_eq!((verdict.missing, verdict.duplicates), (vec![finding.to_owned()], vec![]));
}

fn assert_duplicate(plant: impl FnOnce(&mut Evidence), finding: &str) {
    let verdict = after(plant);
    assert_eq!((verdict.missing, verdict.duplicates), (vec![], vec![finding.to_owned()]));
}

#[test]
fn an_orderly_run_is_clean_and_counted() {
    let verdict = after(|_| {});
    assert_eq!(
        verdict,
        Verdict {
            orders: 3,
            charges: 1,
            invoices: 1,
            refusals: 1,
            out_of_stock: 1,
            attempts: 5,
            repeated: 1,
            repeated_this_run: 1,
            started_this_run: 0,
            missing: vec![],
            duplicates: vec![],
        }
    );
    assert!(verdict.is_clean());
}

#[test]
fn what_is_missing_is_found() {
    assert_missing(|e| e.invoices.clear(), "order 1: no invoice");
    assert_missing(|e| drop(e.calls.pop()), "order 2: its card was never refused");
    assert_missing(|e| drop(e.attempts.remove(3)), "order 3: the shop was never asked for stock");
    assert_missing(|e| drop(e.reservations.pop()), "order 2: no stock reserved");
    assert_missing(|e| e.stock_rows.clear(), "SKU MUG: not in the shop's database");
    let verdict = after(|e| e.calls[1].outcome = Outcome::FailedBefore);
    assert_eq!(verdict.missing, ["order 1: not charged"]);
    assert!(!verdict.is_clean());
}

#[test]
fn second_effects_are_found() {
    assert_duplicate(
        |e| e.calls.push(call("1", Outcome::Charged, 2468, Some("ch_2"))),
        "order 1: charged 2 times",
    );
    let again = |e: &mut Evidence| {
        e.reservations.push(reservation("1", 2, false));
        e.stock_rows[0].on_hand = 6;
    };
    assert_duplicate(again, "order 1: stock reserved 2 times");
    let other_key = |e: &mut Evidence| e.attempts[4].key = "another".to_owned();
    assert_duplicate(other_key, "order-1: charge_card was tried under 2 keys");
}

#[test]
fn effects_that_should_not_be_are_found() {
    let refused_charged = |e: &mut Evidence| e.calls.push(call("2", Outcome::Charged, 1234, Some("ch_2")));
    assert_duplicate(refused_charged, "order 2: charged although its card is refused");
    let short_charged = |e: &mut Evidence| e.calls.push(call("3", Outcome::Charged, 1, Some("ch_2")));
    assert_duplicate(short_charged, "order 3: charged although it is out of stock");
    let short_invoiced = |e: &mut Evidence| drop(e.invoices.insert("3.txt".to_owned(), String::new()));
    assert_duplicate(short_invoiced, "order 3: has an invoice although it is out of stock");
    let kept = |e: &mut Evidence| {
        e.reservations[1].released = false;
        e.stock_rows[0].on_hand = 7;
    };
    assert_duplicate(kept, "order 2: stock not given back");
    let given_back = |e: &mut Evidence| {
        e.reservations[0].released = true;
        e.stock_rows[0].on_hand = 10;
    };
    assert_duplicate(given_back, "order 1: stock given back although it was paid");
    let stranger = |e: &mut Evidence| drop(e.invoices.insert("9.txt".to_owned(), String::new()));
    assert_duplicate(stranger, "invoice for an order `9` that nobody gave");
    assert_duplicate(|e| e.stock_rows[0].on_hand = 9, "SKU MUG: 9 on hand and 2 reserved of 10");
}

#[test]
fn wrong_amounts_are_found() {
    assert_duplicate(|e| e.calls[1].cents = 2469, "order 1: charged 24.69 instead of 24.68");
    let wrong_total = |e: &mut Evidence| drop(e.invoices.insert("1.txt".to_owned(), invoice("ch_1", "2.46")));
    assert_duplicate(wrong_total, "order 1: its invoice has `Total: 2.46 EUR` instead of `Total: 24.68 EUR`");
    let wrong_charge =
        |e: &mut Evidence| drop(e.invoices.insert("1.txt".to_owned(), invoice("ch_9", "24.68")));
    assert_duplicate(wrong_charge, "order 1: its invoice has `Charge: ch_9` instead of `Charge: ch_1`");
    let wrong_quantity = |e: &mut Evidence| {
        e.reservations[0].quantity = 3;
        e.stock_rows[0].on_hand = 7;
    };
    assert_duplicate(wrong_quantity, "order 1: 3 of MUG reserved");
}
