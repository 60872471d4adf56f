//! The shop's own database: stock and reservations. It has never heard of workflows; what makes it safe to
//! call twice is that the caller's idempotency key is the primary key of what the call creates.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::dice::{Dice, network_delay};
use crate::orders::Stock;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS stock (
    sku     TEXT PRIMARY KEY,
    initial INTEGER NOT NULL,
    on_hand INTEGER NOT NULL CHECK (on_hand >= 0)
) STRICT;
CREATE TABLE IF NOT EXISTS reservations (
    key      TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    sku      TEXT NOT NULL REFERENCES stock (sku),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    released INTEGER NOT NULL DEFAULT 0
) STRICT;
";

/// A reservation's name, to give it back by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReservationId(pub(crate) String);

/// Why stock was not reserved or given back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShopError {
    #[error("{wanted} of {sku} were ordered, {on_hand} are on hand")]
    OutOfStock { sku: String, wanted: u32, on_hand: u32 },
    #[error("the shop's database")]
    Database(#[from] sqlx::Error),
}

/// A row of `stock`, for the verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StockRow {
    pub(crate) sku: String,
    pub(crate) initial: u32,
    pub(crate) on_hand: u32,
}

/// A row of `reservations`, for the verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) order: String,
    pub(crate) sku: String,
    pub(crate) quantity: u32,
    pub(crate) released: bool,
}

/// The shop.
#[derive(Debug, Clone)]
pub(crate) struct Shop {
    pool: SqlitePool,
    seed: u64,
}

impl Shop {
    /// Opens the shop's database, and makes and stocks it where it is new.
    pub(crate) async fn open(path: &Path, stock: &Stock, seed: u64) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        // One connection: SQLite has one writer, and waiting for it here is fairer than SQLITE_BUSY.
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql(SCHEMA).execute(&mut *tx).await?;
        for (sku, on_hand) in stock {
            sqlx::query(
                "INSERT INTO stock (sku, initial, on_hand) VALUES (?1, ?2, ?2) ON CONFLICT DO NOTHING",
            )
            .bind(sku)
            .bind(on_hand)
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(Self { pool, seed })
    }

    /// Sets `quantity` aside for an order, once per key.
    pub(crate) async fn reserve(
        &self,
        key: &str,
        order: &str,
        sku: &str,
        quantity: u32,
    ) -> Result<ReservationId, ShopError> {
        network_delay(&mut Dice::about(self.seed, key)).await;
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let known: Option<i64> = sqlx::query_scalar("SELECT 1 FROM reservations WHERE key = ?")
            .bind(key)
            .fetch_optional(&mut *tx)
            .await?;
        if known.is_none() {
            let on_hand: Option<u32> = sqlx::query_scalar("SELECT on_hand FROM stock WHERE sku = ?")
                .bind(sku)
                .fetch_optional(&mut *tx)
                .await?;
            let on_hand = on_hand.unwrap_or_default();
            if on_hand < quantity {
                return Err(ShopError::OutOfStock { sku: sku.to_owned(), wanted: quantity, on_hand });
            }
            sqlx::query("INSERT INTO reservations (key, order_id, sku, quantity) VALUES (?, ?, ?, ?)")
                .bind(key)
                .bind(order)
                .bind(sku)
                .bind(quantity)
                .execute(&mut *tx)
                .await?;
            sqlx::query("UPDATE stock SET on_hand = on_hand - ? WHERE sku = ?")
                .bind(quantity)
                .bind(sku)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        }
        network_delay(&mut Dice::about(self.seed, key)).await;
        Ok(ReservationId(key.to_owned()))
    }

    /// Gives a reservation's stock back, once.
    pub(crate) async fn release(&self, reservation: &ReservationId) -> Result<(), ShopError> {
        let mut dice = Dice::about(self.seed, &reservation.0);
        network_delay(&mut dice).await;
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let freed: Option<(String, u32)> = sqlx::query_as(
            "UPDATE reservations SET released = 1 WHERE key = ? AND released = 0 RETURNING sku, quantity",
        )
        .bind(&reservation.0)
        .fetch_optional(&mut *tx)
        .await?;
        if let Some((sku, quantity)) = freed {
            sqlx::query("UPDATE stock SET on_hand = on_hand + ? WHERE sku = ?")
                .bind(quantity)
                .bind(sku)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        }
        network_delay(&mut dice).await;
        Ok(())
    }
}

/// Everything the shop's database holds, read without changing it.
pub(crate) async fn dump(path: &Path) -> Result<(Vec<StockRow>, Vec<Reservation>), sqlx::Error> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(SqliteConnectOptions::new().filename(path))
        .await?;
    let stock: Vec<(String, u32, u32)> =
        sqlx::query_as("SELECT sku, initial, on_hand FROM stock ORDER BY sku").fetch_all(&pool).await?;
    let reservations: Vec<(String, String, u32, bool)> =
        sqlx::query_as("SELECT order_id, sku, quantity, released FROM reservations ORDER BY key")
            .fetch_all(&pool)
            .await?;
    pool.close().await;
    let stock = stock.into_iter().map(|(sku, initial, on_hand)| StockRow { sku, initial, on_hand }).collect();
    let reservations = reservations
        .into_iter()
        .map(|(order, sku, quantity, released)| Reservation { order, sku, quantity, released })
        .collect();
    Ok((stock, reservations))
}
