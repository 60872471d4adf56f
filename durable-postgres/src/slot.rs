//! Liveness: one session-level advisory lock per worker slot, each on a connection of its own outside the pool.
//!
//! A free lock proves only that its last holder lost the connection. So a successor first marks it as
//! superseded, and what it holds is freed one takeover delay later; whoever lives meanwhile finds out at its
//! next renewal, takes the lock again if nobody did, and otherwise gives everything up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::id::{Incarnation, SlotName};
use durable_core::provider::check::slot_taken;
use durable_core::provider::{ErrorKind, ProviderError, ProviderResult};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, query, query_as, query_scalar};

use crate::connection::Connections;
use crate::error::Attempt;
use crate::schema::advisory_key;

/// The liveness locks that this provider holds.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    held: Mutex<HashMap<Incarnation, Arc<Liveness>>>,
}

/// One incarnation's lock.
#[derive(Debug)]
struct Liveness {
    slot: SlotName,
    /// `None` once a successor has the slot: the incarnation may do nothing more.
    lock: tokio::sync::Mutex<Option<SlotLock>>,
    pid: Mutex<Option<i32>>,
}

/// A lock that was taken: it is held while the connection lives.
#[derive(Debug)]
pub(crate) struct SlotLock {
    connection: PgConnection,
    pid: i32,
}

impl Slots {
    /// Takes the named slot, or the first free of `worker-1`, `worker-2`, …
    pub(crate) async fn take(
        &self,
        connections: &Connections,
        slot: Option<&SlotName>,
    ) -> ProviderResult<(SlotName, SlotLock)> {
        let failed = |failure| connections.explain(failure);
        let mut connection = open(connections).await.map_err(failed)?;
        if let Some(slot) = slot {
            return match try_lock(connections, &mut connection, slot).await.map_err(failed)? {
                Some(pid) => Ok((slot.clone(), SlotLock { connection, pid })),
                None => Err(slot_taken(slot.as_str())),
            };
        }
        for number in 1_u32.. {
            let slot = SlotName::new(format!("worker-{number}"))
                .map_err(|error| ProviderError::new(ErrorKind::Invalid, error.to_string()))?;
            if let Some(pid) = try_lock(connections, &mut connection, &slot).await.map_err(failed)? {
                return Ok((slot, SlotLock { connection, pid }));
            }
        }
        Err(slot_taken("worker-*"))
    }

    /// The lock is the incarnation's until it is released, the process ends or the connection is lost.
    pub(crate) fn hold(&self, incarnation: Incarnation, slot: SlotName, lock: SlotLock) {
        let pid = Mutex::new(Some(lock.pid));
        let liveness = Liveness { slot, lock: tokio::sync::Mutex::new(Some(lock)), pid };
        self.held().insert(incarnation, Arc::new(liveness));
    }

    /// Lets an incarnation's lock go. A free slot is free for the next caller at once, so the end of the session
    /// is waited for.
    pub(crate) async fn release(&self, connections: &Connections, incarnation: Incarnation) {
        let liveness = self.held().remove(&incarnation);
        if let Some(liveness) = liveness
            && let Some(lock) = liveness.lock.lock().await.take()
        {
            let unlock = query(connections.statements().worker_unlock.clone());
            if let Err(error) = unlock.execute(&mut { lock.connection }).await {
                tracing::debug!(%incarnation, %error, "the liveness connection is gone, and the lock with it");
            }
        }
    }

    /// The server process behind an incarnation's lock.
    pub(crate) fn pid(&self, incarnation: Incarnation) -> Option<i32> {
        let liveness = self.held().get(&incarnation).cloned()?;
        *liveness.pid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the incarnation may go on: nobody has its slot. A lost connection is replaced if the slot is still
    /// free and no successor ever had it. One that never registered has no slot to lose.
    pub(crate) async fn is_alive(
        &self,
        connections: &Connections,
        incarnation: Incarnation,
    ) -> ProviderResult<bool> {
        let liveness = self.held().get(&incarnation).cloned();
        let Some(liveness) = liveness else { return Ok(true) };
        let mut lock = liveness.lock.lock().await;
        let Some(held) = lock.as_mut() else { return Ok(false) };
        if held.connection.ping().await.is_ok() {
            return Ok(true);
        }
        let again = retake(connections, &liveness.slot, incarnation).await;
        *lock = again.map_err(|failure| connections.explain(failure))?;
        let pid = lock.as_ref().map(|held| held.pid);
        *liveness.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
        Ok(lock.is_some())
    }

    /// Refuses an incarnation that is known to have lost its slot.
    pub(crate) async fn check(&self, incarnation: Incarnation) -> ProviderResult<()> {
        let liveness = self.held().get(&incarnation).cloned();
        let Some(liveness) = liveness else { return Ok(()) };
        if liveness.lock.lock().await.is_some() {
            return Ok(());
        }
        let message = format!(
            "incarnation {incarnation} lost worker slot {:?} to a successor while its connection was down; nothing \
             was claimed: restart this worker",
            liveness.slot.as_str()
        );
        Err(ProviderError::new(ErrorKind::LeaseLost, message))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Incarnation, Arc<Liveness>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open(connections: &Connections) -> Attempt<PgConnection> {
    let mut connection = connections.connect().await?;
    query(connections.statements().worker_keepalive.clone()).execute(&mut connection).await?;
    Ok(connection)
}

async fn try_lock(
    connections: &Connections,
    connection: &mut PgConnection,
    slot: &SlotName,
) -> Attempt<Option<i32>> {
    let key = advisory_key("slot", connections.options().schema_name(), slot.as_str());
    let (taken, pid): (bool, i32) =
        query_as(connections.statements().worker_lock.clone()).bind(key).fetch_one(connection).await?;
    Ok(taken.then_some(pid))
}

/// Takes the slot of a lost connection again, unless a successor has it or had it.
async fn retake(
    connections: &Connections,
    slot: &SlotName,
    incarnation: Incarnation,
) -> Attempt<Option<SlotLock>> {
    let mut connection = open(connections).await?;
    let Some(pid) = try_lock(connections, &mut connection, slot).await? else { return Ok(None) };
    let superseded: Option<bool> = query_scalar(connections.statements().worker_superseded.clone())
        .bind(incarnation.0)
        .fetch_optional(&mut connection)
        .await?;
    Ok((superseded == Some(false)).then_some(SlotLock { connection, pid }))
}
