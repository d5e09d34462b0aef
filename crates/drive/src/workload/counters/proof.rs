//! The location of a run's memory: recorded, and compared with the requested policy.

use crate::capture::memory::misplaced;
use crate::sut::{LoadAround, Surroundings, SutError, SutWatch, Watched};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_counters_study::workload::{MemoryScope, Outcome};
use tare_cpuset::{AffinityError, NodeSet, ThreadRef, bind_thread};
use tare_results::covariate::{COUNTER_PAGES, DATA_PAGES, INCREMENTS_COUNTED, INCREMENTS_EXPECTED};
use tare_results::schema::{AppliedSetting, ThreadClass};
use tare_topology::observe::NodePages;
use tare_topology::{MemoryPolicy, ResolvedPlacement, bind};

/// Pages of counters and data by node, and increments made and counted.
pub(super) fn covariates(outcome: &Outcome) -> BTreeMap<String, f64> {
    let of = |family: tare_results::covariate::Covariate, pages: &BTreeMap<u32, u64>| {
        pages.iter().map(|(node, pages)| (family.name_at(*node), *pages as f64)).collect::<Vec<_>>()
    };
    let increments =
        [(INCREMENTS_EXPECTED, outcome.expected), (INCREMENTS_COUNTED, outcome.counted)].map(|(of, count)| {
            // Exact up to 2^53.
            (of.name_at(0), count as f64)
        });
    [of(COUNTER_PAGES, &outcome.counter_pages), of(DATA_PAGES, &outcome.data_pages), increments.to_vec()]
        .concat()
        .into_iter()
        .collect()
}

/// The memory policy of the allocation and its proof: the policy that the allocating thread read back or, for the
/// policy of the whole process, that a counting thread read back; and the nodes that hold the pages of the data.
///
/// # Errors
/// [`SutError::Misplaced`] when more than a hundredth of the data is outside the nodes, or a thread has another policy.
pub(super) fn memory(
    scope: MemoryScope,
    policy: &MemoryPolicy,
    outcome: &Outcome,
    of_a_thread: Option<&MemoryPolicy>,
) -> Result<AppliedSetting, SutError> {
    let by_node = outcome.data_pages.iter().map(|(node, pages)| {
        let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
        (*node, NodePages { pages: *pages, bytes, file_bytes: 0 })
    });
    if let Some(misplaced) = misplaced("the data", policy, &by_node.collect()) {
        return Err(SutError::Misplaced(misplaced));
    }
    let of_thread = of_a_thread.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    if scope == MemoryScope::Process
        && *policy != MemoryPolicy::Default
        && of_a_thread.is_some_and(|found| found != policy)
    {
        return Err(SutError::Misplaced(format!(
            "the memory policy of the whole process should be {policy}, but that of a counting thread is {of_thread}"
        )));
    }
    let requested = match (policy, &outcome.not_interleaved) {
        (MemoryPolicy::Default, Some(reason)) => format!("not interleaved: {reason}"),
        (MemoryPolicy::Default, None) => {
            "as published (NUMA Smart Global Counter): interleaved over all nodes".to_owned()
        }
        (policy, _) => format!("{policy}, as read back where it was set"),
    };
    let whose = match scope {
        MemoryScope::Payload => format!("counters and data: {requested}"),
        MemoryScope::Process => format!("the whole process: {requested}; a counting thread has {of_thread}"),
    };
    let nodes: NodeSet = outcome.data_pages.keys().copied().collect();
    let lies = if nodes.is_empty() { String::new() } else { format!("; pages of data on nodes {nodes}") };
    Ok(AppliedSetting::new("memory", policy, whose + &lies))
}

/// Observes one run, from its own threads and from the thread that waits for them.
pub(super) struct Eyes<'a> {
    placement: &'a ResolvedPlacement,
    seen: Mutex<WatchState<'a>>,
}

struct WatchState<'a> {
    watch: &'a mut SutWatch,
    failed: Option<SutError>,
    surroundings: Option<Surroundings>,
    policy: Option<MemoryPolicy>,
}

pub(super) struct Sight {
    pub(super) surroundings: Surroundings,
    /// The memory policy of one of the counting threads, which all have the same.
    pub(super) policy: Option<MemoryPolicy>,
}

impl<'a> Eyes<'a> {
    pub(super) fn new(watch: &'a mut SutWatch, placement: &'a ResolvedPlacement) -> Self {
        watch.clear();
        Self { placement, seen: Mutex::new(WatchState { watch, failed: None, surroundings: None, policy: None }) }
    }

    fn seen(&self) -> MutexGuard<'_, WatchState<'a>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by each thread: binds it by the placement and starts watching it.
    pub(super) fn bind(&self, number: usize) {
        let thread = ThreadRef::of_this_thread();
        let requested = self.placement.client_cpus(number).cloned();
        let bound = requested.as_ref().map_or(Ok(()), |cpus| bind_thread(thread, cpus));
        let policy = (number == 0).then(bind::this_thread_memory_policy);
        let mut seen = self.seen();
        seen.note(bound);
        if let Some(policy) = policy {
            seen.policy = policy.ok();
        }
        seen.watch.also(Watched { class: ThreadClass::Client, pair: Some(number), thread, requested });
    }

    /// Sets the requested policy on the allocating thread.
    pub(super) fn set_policy(&self) -> Result<(), String> {
        bind::set_memory_policy(&self.placement.memory).map_err(|e| e.to_string())
    }

    /// Called while all threads wait: starts the measurement.
    pub(super) fn ready(&self) -> Result<(), String> {
        let mut seen = self.seen();
        if seen.failed.is_none() {
            seen.failed = seen.watch.start(LoadAround::Idle).err();
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_counters_study::strategies::Strategy;
    use tare_counters_study::workload::{Config, run};

    fn outcome(data_pages: &[(u32, u64)]) -> Outcome {
        let config = Config { rounds: 1, data_blocks: 10, ..Config::article(Strategy::Atomic) };
        Outcome { data_pages: data_pages.iter().copied().collect(), ..run(&config).unwrap() }
    }

    #[test]
    fn data_outside_the_requested_nodes_fails_unless_the_policy_allows_it() {
        let split = outcome(&[(0, 100), (1, 100)]);
        let judge = |policy: &str| memory(MemoryScope::Payload, &policy.parse().unwrap(), &split, None);
        assert!(judge("bind:0").unwrap_err().to_string().contains("50.0%"));
        for policy in ["default", "interleave:0-1", "preferred:0", "local"] {
            let set = judge(policy).unwrap();
            assert!(set.level == policy && set.verified.ends_with("pages of data on nodes 0-1"), "{set:?}");
        }
    }

    #[test]
    fn a_thread_with_a_different_policy_fails_the_scope_of_the_process() {
        let found = outcome(&[(0, 100)]);
        let (bind, other) = ("bind:0".parse().unwrap(), "local".parse().unwrap());
        let judge = |scope, of_thread| memory(scope, &bind, &found, Some(of_thread));
        assert!(judge(MemoryScope::Process, &other).unwrap_err().to_string().contains("counting thread is local"));
        assert!(judge(MemoryScope::Process, &bind).unwrap().verified.contains("a counting thread has bind:0"));
        assert!(judge(MemoryScope::Payload, &other).is_ok(), "threads keep their own there");
    }

    #[test]
    fn pages_are_recorded_by_node_and_increments_as_counts() {
        // The run of 128 threads with fuzzy counters of "NUMA Smart Global Counter".
        let found = Outcome {
            counter_pages: BTreeMap::from([(2, 7)]),
            expected: 20_480_000,
            counted: 20_479_994,
            ..outcome(&[(0, 5)])
        };
        let expected = [
            ("counter_pages_node2", 7.0),
            ("data_pages_node0", 5.0),
            ("increments_counted", 20_479_994.0),
            ("increments_expected", 20_480_000.0),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(covariates(&found), expected);
    }
}
