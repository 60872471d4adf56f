//! Renews every lease of the worker in one batch.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::message::Message;
use super::rows::Rows;
use super::shared::Shared;
use crate::id::{Epoch, InstanceId};
use crate::provider::{LeaseRenewal, ProviderResult};

/// Renews until the worker has ended; also while it drains.
pub(super) async fn run(shared: Arc<Shared>, owner: UnboundedSender<Message>, rows: Arc<Rows>) {
    let mut failures = 0;
    loop {
        let pause = if failures == 0 { shared.lease / 3 } else { shared.lease / 12 };
        tokio::select! {
            biased;
            () = shared.sleep(pause) => {}
            () = shared.stopped.cancelled() => return,
        }
        let instances = owned(&owner).await;
        match renew(&shared, &owner, &rows, instances).await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, failures, "leases were not renewed; trying again");
            }
        }
    }
}

async fn owned(owner: &UnboundedSender<Message>) -> Vec<(InstanceId, Epoch)> {
    let (sender, answer) = oneshot::channel();
    if owner.send(Message::Owned(sender)).is_err() {
        return Vec::new();
    }
    // The owner has ended: it owns nothing.
    answer.await.unwrap_or_default()
}

async fn renew(
    shared: &Shared,
    owner: &UnboundedSender<Message>,
    rows: &Rows,
    instances: Vec<(InstanceId, Epoch)>,
) -> ProviderResult<()> {
    let activities = rows.held();
    if instances.is_empty() && activities.is_empty() {
        return Ok(());
    }
    let state = shared
        .provider
        .lease_renew(LeaseRenewal {
            incarnation: shared.incarnation,
            instances: instances.clone(),
            activities: activities.clone(),
            lease: shared.lease,
            now: shared.now_override(),
        })
        .await?;
    shared.saw_time(state.now);
    let lost: Vec<_> = instances.into_iter().filter(|(id, _)| state.lost_instances.contains(id)).collect();
    if !lost.is_empty() && owner.send(Message::Lost(lost)).is_err() {
        tracing::debug!("leases were lost after the owner had ended");
    }
    let lost: Vec<_> =
        activities.into_iter().filter(|(row, _)| state.lost_activities.contains(row)).collect();
    rows.lost(&lost);
    Ok(())
}
