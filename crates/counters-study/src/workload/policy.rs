//! The memory policy of a run: set on threads that end with it, so that nothing has to be put back.

use std::thread::{Builder, scope};

use super::config::{Config, MemoryScope};
use super::error::Error;
use crate::strategies::interleave_own_allocations;

/// Why memory could not be interleaved, where the article's own policy was refused.
type Refused = Option<String>;

/// Does it in a thread of its own under the run's policy, when `scope_of_policy` is what that policy holds for. In that
/// scope everything that the thread starts has the policy too.
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
