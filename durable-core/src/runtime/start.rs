//! Starting a worker: what is refused, what is registered, which tasks run.

use std::io;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::attempts::hex;
use super::message::Message;
use super::ownership::Ownership;
use super::poller::Poller;
use super::registry::DuplicateName;
use super::rows::Rows;
use super::shared::{Shared, SharedParts};
use super::threads::Threads;
use super::worker::{Options, Running};
use super::{committer, leases};
use crate::id::{BuildId, Incarnation, InvalidName};
use crate::provider::{ProviderError, WorkerRegistration};

/// Why a worker does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The program is built with `panic = "abort"`.
    #[error(
        "this program is built with `panic = \"abort\"`: a panic in one workflow or activity would end all of \
         them; remove it from the Cargo profile"
    )]
    PanicAbort,
    /// A name is registered twice.
    #[error(transparent)]
    Duplicate(#[from] DuplicateName),
    /// A slot, queue or build name breaks the rule for names.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The executable cannot be hashed to name the build.
    #[error("the build cannot be named after the executable's file: {0}; name it with `.build_id(..)`")]
    Build(#[source] io::Error),
    /// The threads cannot be started.
    #[error("workflow threads cannot be started: {0}")]
    Threads(#[source] io::Error),
    /// The worker cannot be registered, e.g. because a living one holds the slot.
    #[error("the worker cannot be registered: {0}")]
    Provider(#[from] ProviderError),
}

/// The build's default name: a hash of the executable's file.
fn default_build() -> Result<BuildId, StartError> {
    let file = std::env::current_exe().and_then(std::fs::File::open);
    let mut hash = Sha256::new();
    file.and_then(|mut file| {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = io::Read::read(&mut file, &mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            hash.update(&buffer[..read]);
        }
    })
    .map_err(StartError::Build)?;
    Ok(BuildId::new(hex(&hash.finalize()[..8]))?)
}

/// Registers the worker and starts its tasks.
pub(super) async fn start(options: Options) -> Result<Running, StartError> {
    if cfg!(panic = "abort") {
        return Err(StartError::PanicAbort);
    }
    let build = match options.build {
        Some(build) => build,
        None => tokio::task::spawn_blocking(default_build)
            .await
            .map_err(|error| StartError::Build(io::Error::other(error)))??,
    };
    let (durable, incarnation) = (options.durable, Incarnation::fresh());
    let registration = WorkerRegistration {
        slot: options.slot,
        incarnation,
        build: build.clone(),
        now: durable.clock.database_override(),
    };
    let registered = durable.provider.worker_register(registration).await?;
    tracing::info!(slot = %registered.slot, %incarnation, %build, freed = registered.freed, "worker started");
    let shared = Arc::new(Shared::new(SharedParts {
        provider: Arc::clone(&durable.provider),
        clock: Arc::clone(&durable.clock),
        wakeups: Arc::clone(&durable.wakeups),
        registry: options.registry,
        state: Arc::new(options.state),
        incarnation,
        build,
        queue: options.queue,
        lease: options.lease,
        max_runs: options.max_runs,
        max_events: options.max_events,
        max_activities: options.max_activities,
        now: registered.now,
    }));
    let (owner, messages) = unbounded_channel::<Message>();
    let threads = Threads::start(
        options.threads,
        options.cache,
        options.turn_limit,
        Arc::clone(&shared.clock),
        owner.clone(),
    );
    let threads = match threads {
        Ok(threads) => Arc::new(threads),
        Err(error) => {
            shared.provider.worker_deregister(incarnation).await?;
            return Err(StartError::Threads(error));
        }
    };
    let rows = Rows::new(Arc::clone(&shared), owner.clone());
    let (commits, to_commit) = unbounded_channel();
    tokio::spawn(committer::run(Arc::clone(&shared), to_commit, owner.clone()));
    let gone = CancellationToken::new();
    let ownership = Ownership {
        shared: Arc::clone(&shared),
        threads: Arc::clone(&threads),
        commits,
        myself: owner.clone(),
        runs: std::collections::HashMap::new(),
        draining: false,
    };
    let guard = gone.clone().drop_guard();
    tokio::spawn(async move {
        ownership.run(messages).await;
        drop(guard);
    });
    let stopped = shared.stopped.clone();
    tokio::spawn(async move { stopped.run_until_cancelled(threads.watch()).await });
    tokio::spawn(leases::run(Arc::clone(&shared), owner.clone(), Arc::clone(&rows)));
    let poller = Poller { shared: Arc::clone(&shared), owner: owner.clone(), rows: Arc::clone(&rows) };
    let polling = tokio::spawn(poller.run());
    Ok(Running { shared, owner, rows, gone, polling: polling.into(), slot: registered.slot })
}
