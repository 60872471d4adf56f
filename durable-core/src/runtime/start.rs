//! Starting a worker: what is refused, what is registered, which tasks run.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::host::Host;
use super::inline::InlineLine;
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
use crate::provider::{ProviderError, Registered, WorkerRegistration};

/// Commits in one flush at most.
const FLUSH_MAX: usize = 512;

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

/// The build's default name: a hash of the executable's file, computed once in a process. It only has to tell
/// builds apart, and a start waits for it: a cryptographic hash takes seconds in an unoptimized build.
fn default_build() -> Result<BuildId, StartError> {
    static BUILD: OnceLock<BuildId> = OnceLock::new();
    if let Some(build) = BUILD.get() {
        return Ok(build.clone());
    }
    let hashed = || -> io::Result<String> {
        let mut file = std::env::current_exe().and_then(std::fs::File::open)?;
        let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 20]);
        loop {
            let read = io::Read::read(&mut file, &mut buffer)?;
            if read == 0 {
                return Ok(format!("{:016x}", hash.digest()));
            }
            hash.update(&buffer[..read]);
        }
    };
    let build = BuildId::new(hashed().map_err(StartError::Build)?)?;
    Ok(BUILD.get_or_init(|| build).clone())
}

/// Registers the worker and starts its tasks.
pub(super) async fn start(options: Options) -> Result<Running, StartError> {
    if cfg!(panic = "abort") {
        return Err(StartError::PanicAbort);
    }
    let build = match options.build.clone() {
        Some(build) => build,
        // Hashing takes a while; in deterministic mode nothing may run elsewhere.
        None if options.durable.inline.is_some() => default_build()?,
        None => tokio::task::spawn_blocking(default_build)
            .await
            .map_err(|error| StartError::Build(io::Error::other(error)))??,
    };
    let (provider, incarnation) = (Arc::clone(&options.durable.provider), options.durable.ids.incarnation());
    let registration = WorkerRegistration {
        slot: options.slot.clone(),
        incarnation,
        build: build.clone(),
        now: options.durable.clock.database_override(),
    };
    let registered = provider.worker_register(registration).await?;
    tracing::info!(slot = %registered.slot, %incarnation, %build, freed = registered.freed, "worker started");
    match spawn(options, incarnation, build, registered) {
        Ok(running) => Ok(running),
        Err(error) => {
            provider.worker_deregister(incarnation).await?;
            Err(StartError::Threads(error))
        }
    }
}

/// Starts the threads and tasks of a registered worker.
fn spawn(
    options: Options,
    incarnation: Incarnation,
    build: BuildId,
    registered: Registered,
) -> io::Result<Running> {
    let durable = options.durable;
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
        // Owned runs fit into the cache of one thread: otherwise they could evict each other for ever.
        max_runs: options.max_runs.min(options.cache),
        limits: options.limits,
        // One turn per flush, so that the n-th commit is the same turn each time.
        flush_max: if durable.inline.is_some() { 1 } else { FLUSH_MAX },
        ids: Arc::clone(&durable.ids),
        tasks: durable.tasks.clone(),
        max_activities: options.max_activities,
        now: registered.now,
    }));
    let (owner, messages) = unbounded_channel::<Message>();
    let (clock, answers, cache) = (Arc::clone(&shared.clock), owner.clone(), options.cache);
    let host = Arc::new(match &durable.inline {
        Some(hosts) => Host::inline(hosts, |orders| InlineLine { orders, answers, cache }),
        None => Host::Threads(Threads::start(options.threads, cache, options.turn_limit, clock, answers)?),
    });
    let rows = Rows::new(Arc::clone(&shared), owner.clone());
    let (commits, to_commit) = unbounded_channel();
    watched(&shared, "committer", committer::run(Arc::clone(&shared), to_commit, owner.clone()));
    let gone = CancellationToken::new();
    let ownership = Ownership {
        shared: Arc::clone(&shared),
        host: Arc::clone(&host),
        commits,
        myself: owner.clone(),
        runs: std::collections::BTreeMap::new(),
        draining: false,
        told_unknown: std::collections::HashSet::new(),
    };
    let guard = gone.clone().drop_guard();
    watched(&shared, "ownership", async move {
        ownership.run(messages).await;
        drop(guard);
    });
    let stopped = shared.stopped.clone();
    watched(&shared, "watchdog", async move {
        // `None` says that the worker has ended.
        let _ended = stopped.run_until_cancelled(host.watch()).await;
    });
    watched(&shared, "leases", leases::run(Arc::clone(&shared), owner.clone(), Arc::clone(&rows)));
    let poller = Poller { shared: Arc::clone(&shared), owner: owner.clone(), rows: Arc::clone(&rows) };
    let polling = watched(&shared, "poller", poller.run());
    Ok(Running { shared, owner, rows, gone, polling: polling.into(), slot: registered.slot })
}

/// Runs a task of the worker. Its panic is a bug, and stops the whole worker, as a crash would: a worker
/// that works by half holds leases for nothing.
fn watched(
    shared: &Arc<Shared>,
    task: &'static str,
    work: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let (inner, shared) = (shared.tasks.spawn(work), Arc::clone(shared));
    let tasks = shared.tasks.clone();
    tasks.spawn(async move {
        if let Err(error) = inner.await {
            tracing::error!(task, %error, "a task of the worker ended with a panic; the worker stops");
            shared.stop_like_a_crash();
        }
    })
}
