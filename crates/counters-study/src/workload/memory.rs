//! Checks that a run fits in memory, and sets its memory policy.

use super::blocks::DATA_BYTES;
use super::config::{Config, MemoryScope};
use super::error::Error;
use crate::strategies::interleave_own_allocations;
use std::thread::{Builder, scope};

/// Refuses a run for which the memory is too small. Called before anything is allocated.
pub(super) fn check(config: &Config<'_>, bytes_per_counter: u64) -> Result<(), Error> {
    let available_bytes = config.available_bytes;
    let needed = needed(config, bytes_per_counter);
    if needed <= u128::from(available_bytes) {
        return Ok(());
    }
    Err(Error::Memory {
        needed_bytes: u64::try_from(needed).unwrap_or(u64::MAX),
        available_bytes,
        data_blocks: config.data_blocks,
        counters: u64::try_from(counters(config)).unwrap_or(u64::MAX),
        bytes_per_counter,
    })
}

pub(super) fn needed(config: &Config<'_>, bytes_per_counter: u64) -> u128 {
    let data = config.data_blocks as u128 * DATA_BYTES as u128;
    counters(config).saturating_mul(u128::from(bytes_per_counter)).saturating_add(data)
}

fn counters(config: &Config<'_>) -> u128 {
    config.counter_blocks as u128 * config.counters_per_block as u128 + config.data_blocks as u128
}

/// Why memory could not be interleaved, when the default policy was refused.
type Refused = Option<String>;

/// Calls `act` in a separate thread under the run's memory policy, if the policy has the scope `scope_of_policy`;
/// otherwise in this thread. Threads started by the separate thread inherit the policy.
pub(super) fn under<T: Send>(
    config: &Config<'_>,
    scope_of_policy: MemoryScope,
    act: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<(T, Refused), Error> {
    if config.memory_scope != scope_of_policy {
        return Ok((act()?, None));
    }
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || {
            let refused = set(config)?;
            Ok((act()?, refused))
        });
        thread.map_err(|source| Error::Spawn { thread: 0, source })?.join().map_err(|_| Error::Thread)?
    })
}

fn set(config: &Config<'_>) -> Result<Refused, Error> {
    match config.hooks.memory {
        Some(apply) => apply().map(|()| None).map_err(Error::MemoryPolicy),
        None => Ok(interleave_own_allocations().err().map(|error| error.to_string())),
    }
}
