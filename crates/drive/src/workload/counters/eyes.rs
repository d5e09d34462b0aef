//! One run of the counters under a watch: its threads bound and seen, its memory policy set and read back.

use crate::sut::{SubjectWatch, Surroundings, SutError, Watched};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_cpuset::{AffinityError, ThreadRef, bind_thread};
use tare_results::schema::ThreadClass;
use tare_topology::bind;
use tare_topology::{MemoryPolicy, ResolvedPlacement};

/// What looks at one run, from its own threads and from the thread that waits for them.
pub(super) struct Eyes<'a> {
    placement: &'a ResolvedPlacement,
    seen: Mutex<WatchState<'a>>,
}

struct WatchState<'a> {
    watch: &'a mut SubjectWatch,
    failed: Option<SutError>,
    surroundings: Option<Surroundings>,
    policy: Option<MemoryPolicy>,
}

pub(super) struct Sight {
    pub(super) surroundings: Surroundings,
    /// Under which memory policy threads count: that of one of them, all alike.
    pub(super) policy: Option<MemoryPolicy>,
}

impl<'a> Eyes<'a> {
    pub(super) fn new(watch: &'a mut SubjectWatch, placement: &'a ResolvedPlacement) -> Self {
        watch.clear();
        Self { placement, seen: Mutex::new(WatchState { watch, failed: None, surroundings: None, policy: None }) }
    }

    fn seen(&self) -> MutexGuard<'_, WatchState<'a>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread puts itself where it belongs, and is watched from now on.
    pub(super) fn bind(&self, number: usize) {
        let thread = ThreadRef::of_this_thread();
        let asked = self.placement.client_cpus(number).cloned();
        let bound = asked.as_ref().map_or(Ok(()), |cpus| bind_thread(thread, cpus));
        let policy = (number == 0).then(bind::this_thread_memory_policy);
        let mut seen = self.seen();
        seen.note(bound);
        if let Some(policy) = policy {
            seen.policy = policy.ok();
        }
        seen.watch.also(Watched { class: ThreadClass::Client, pair: Some(number), thread, asked });
    }

    /// The policy that was requested, on the thread that allocates.
    pub(super) fn set_policy(&self) -> Result<(), String> {
        bind::set_memory_policy(&self.placement.memory).map_err(|e| e.to_string())
    }

    /// All threads wait: nothing runs, and from now on they are looked at.
    pub(super) fn ready(&self) -> Result<(), String> {
        let mut seen = self.seen();
        if seen.failed.is_none() {
            seen.failed = seen.watch.start().err();
        }
        match &seen.failed {
            None => Ok(()),
            Some(error) => Err(error.to_string()),
        }
    }

    pub(super) fn done(&self) {
        let mut seen = self.seen();
        match seen.watch.finish() {
            Ok(mut surroundings) => {
                surroundings.threads.sort_by_key(|thread| thread.pair);
                seen.surroundings = Some(surroundings);
            }
            Err(error) => seen.failed = Some(error),
        }
    }

    pub(super) fn close(self) -> Result<Sight, SutError> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        match seen.failed {
            Some(error) => Err(error),
            None => Ok(Sight { surroundings: seen.surroundings.unwrap_or_default(), policy: seen.policy }),
        }
    }
}

impl WatchState<'_> {
    fn note(&mut self, bound: Result<(), AffinityError>) {
        if let Err(error) = bound {
            self.failed.get_or_insert(error.into());
        }
    }
}
