//! Invoices: one text file an order, written whole or not at all, and the same however often.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::ledger::ChargeId;
use crate::orders::{Order, money};

/// The folder that invoices go to.
#[derive(Debug, Clone)]
pub(crate) struct Invoices {
    dir: PathBuf,
}

impl Invoices {
    /// Opens the folder, and makes it where it is new.
    pub(crate) fn open(dir: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        Ok(Self { dir })
    }

    /// Writes an order's invoice and returns the file's name.
    pub(crate) fn write(&self, order: &Order, charge: &ChargeId) -> io::Result<String> {
        let name = format!("{}.txt", order.id);
        let draft = self.dir.join(format!("{name}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(text(order, charge).as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, self.dir.join(&name))?;
        Ok(name)
    }
}

/// What a machine reads comes first: a customer's name may hold anything, line breaks included.
fn text(order: &Order, charge: &ChargeId) -> String {
    format!(
        "Invoice: {}\nCharge: {}\nTotal: {} EUR\n\n{} x {} at {} EUR\n\nFor {} <{}>\n",
        order.id,
        charge.0,
        money(order.cents()),
        order.quantity,
        order.sku,
        money(order.unit_cents),
        order.customer,
        order.email,
    )
}
