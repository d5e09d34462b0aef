//! Which boot the machine is in: another one has its own defaults.

use crate::system::System;

/// The id of the running boot; a system that has none counts as always the same boot.
pub(crate) fn boot_id(system: &System) -> String {
    system
        .read_optional("/proc/sys/kernel/random/boot_id")
        .map_or_else(|| "unknown".to_owned(), |t| t.trim().to_owned())
}
