//! The checkout: what happens to one order, and the four activities that do it.

use std::io;
use std::time::Duration;

use durable::prelude::*;
use serde::{Deserialize, Serialize};

use crate::attempts::{AttemptLog, End};
use crate::invoices::Invoices;
use crate::ledger::{ChargeId, ChargeRequest, Ledger, LedgerError};
use crate::orders::Order;
use crate::shop::{ReservationId, Shop, ShopError};

/// What a customer gets who paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) charge: ChargeId,
    pub(crate) invoice: String,
}

/// Why an order ends without a receipt.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub(crate) enum CheckoutError {
    #[error(transparent)]
    OutOfStock(StockError),
    #[error("payment refused, stock given back: {0}")]
    Refused(PaymentError),
    #[error("cancelled")]
    Cancelled,
    /// Nothing a customer did: a service stayed away longer than the retry policy waits.
    #[error("given up: {0}")]
    Broken(String),
}

/// Stock could not be reserved or given back.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub(crate) enum StockError {
    #[error("{wanted} of {sku} were ordered, {on_hand} are on hand")]
    OutOfStock { sku: String, wanted: u32, on_hand: u32 },
    #[error("the shop is away: {0}")]
    Away(String),
}

/// A card could not be charged.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub(crate) enum PaymentError {
    #[error("the card was refused")]
    Refused,
    #[error("the ledger takes this charge for another one: {0}")]
    Mixup(String),
    #[error("the ledger is away: {0}")]
    Away(String),
}

/// An invoice could not be written.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("invoice not written: {0}")]
pub(crate) struct InvoiceError(String);

/// One order from its stock to its invoice.
#[workflow]
pub(crate) async fn checkout(ctx: &WorkflowContext, order: Order) -> Result<Receipt, CheckoutError> {
    let reservation = reserve_stock(ctx, order.id.clone(), order.sku.clone(), order.quantity).await?;
    let charge = match charge_card(ctx, order.id.clone(), order.card.clone(), order.cents()).await {
        Ok(charge) => charge,
        Err(error) => {
            release_stock(ctx, reservation).await?;
            return Err(error.into());
        }
    };
    // The bank wants a moment before the invoice may go out.
    ctx.sleep(Duration::from_millis(50)).await?;
    let invoice = write_invoice(ctx, order, charge.clone()).await?;
    Ok(Receipt { charge, invoice })
}

/// Sets stock aside.
#[activity(start_to_close = "10s", retry(max_attempts = 1000, initial = "50ms", max = "1s"))]
pub(crate) async fn reserve_stock(
    ctx: &ActivityContext,
    order: String,
    sku: String,
    quantity: u32,
) -> Result<ReservationId, StockError> {
    let shop = ctx.state::<Shop>();
    logged(ctx, "reserve_stock", async {
        Ok(shop.reserve(ctx.idempotency_key(), &order, &sku, quantity).await?)
    })
    .await
}

/// Gives stock back.
#[activity(start_to_close = "10s", retry(max_attempts = 1000, initial = "50ms", max = "1s"))]
pub(crate) async fn release_stock(
    ctx: &ActivityContext,
    reservation: ReservationId,
) -> Result<(), StockError> {
    let shop = ctx.state::<Shop>();
    logged(ctx, "release_stock", async { Ok(shop.release(&reservation).await?) }).await
}

/// Charges the card, once for this step, however often the ledger has to be asked.
#[activity(start_to_close = "10s", retry(max_attempts = 1000, initial = "50ms", max = "1s"))]
pub(crate) async fn charge_card(
    ctx: &ActivityContext,
    order: String,
    card: String,
    cents: u64,
) -> Result<ChargeId, PaymentError> {
    let ledger = ctx.state::<Ledger>();
    let request = ChargeRequest { key: ctx.idempotency_key(), order: &order, card: &card, cents };
    logged(ctx, "charge_card", async { Ok(ledger.charge(request).await?) }).await
}

/// Writes the invoice.
#[activity(start_to_close = "10s", retry(max_attempts = 1000, initial = "50ms", max = "1s"))]
pub(crate) async fn write_invoice(
    ctx: &ActivityContext,
    order: Order,
    charge: ChargeId,
) -> Result<String, InvoiceError> {
    let invoices = ctx.state::<Invoices>();
    logged(ctx, "write_invoice", async { Ok(invoices.write(&order, &charge)?) }).await
}

/// Does `work` between its two lines in the attempt log.
async fn logged<T, E: RetryAdvice + From<io::Error>>(
    ctx: &ActivityContext,
    activity: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let log = ctx.state::<AttemptLog>();
    let (workflow, key) = (ctx.workflow_id().to_string(), ctx.idempotency_key());
    let nonce = log.start(&workflow, activity, key)?;
    let result = work.await;
    let end = match &result {
        Ok(_) => End::Done,
        Err(error) if error.retryable() => End::Retry,
        Err(_) => End::Final,
    };
    log.end(&workflow, activity, key, nonce, end)?;
    result
}

impl RetryAdvice for StockError {
    fn retryable(&self) -> bool {
        matches!(self, Self::Away(_))
    }
}

impl RetryAdvice for PaymentError {
    fn retryable(&self) -> bool {
        matches!(self, Self::Away(_))
    }
}

impl RetryAdvice for InvoiceError {
    fn retryable(&self) -> bool {
        true
    }
}

impl From<ActivityError<StockError>> for CheckoutError {
    fn from(error: ActivityError<StockError>) -> Self {
        match error.kind {
            ActivityErrorKind::Failed(error @ StockError::OutOfStock { .. }) => Self::OutOfStock(error),
            ActivityErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl From<ActivityError<PaymentError>> for CheckoutError {
    fn from(error: ActivityError<PaymentError>) -> Self {
        match error.kind {
            ActivityErrorKind::Failed(error @ PaymentError::Refused) => Self::Refused(error),
            ActivityErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl From<ActivityError<InvoiceError>> for CheckoutError {
    fn from(error: ActivityError<InvoiceError>) -> Self {
        match error.kind {
            ActivityErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl From<Cancelled> for CheckoutError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<ShopError> for StockError {
    fn from(error: ShopError) -> Self {
        match error {
            ShopError::OutOfStock { sku, wanted, on_hand } => Self::OutOfStock { sku, wanted, on_hand },
            ShopError::Database(error) => Self::Away(error.to_string()),
        }
    }
}

impl From<LedgerError> for PaymentError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Refused => Self::Refused,
            LedgerError::KeyReused { .. } => Self::Mixup(error.to_string()),
            LedgerError::NoAnswer | LedgerError::File(_) => Self::Away(error.to_string()),
        }
    }
}

impl From<io::Error> for StockError {
    fn from(error: io::Error) -> Self {
        Self::Away(error.to_string())
    }
}

impl From<io::Error> for PaymentError {
    fn from(error: io::Error) -> Self {
        Self::Away(error.to_string())
    }
}

impl From<io::Error> for InvoiceError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}
