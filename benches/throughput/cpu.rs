//! CPU time of the whole process, user and system.

use std::time::Duration;

#[cfg(unix)]
pub(crate) fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Not measured here: the column shows zero.
#[cfg(not(unix))]
pub(crate) fn used() -> Duration {
    Duration::ZERO
}
