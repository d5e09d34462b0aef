//! The server's memory at the end of a sample: verified if the placement names its nodes, and recorded.
//!
//! The kernel walks all pages of the server for each reading (10 ms for 500 MB), so nothing is read in vain.

use super::{SutError, SutWatch};
use crate::capture::memory;
use std::collections::BTreeMap;
use tare_topology::bind::shared_memory_pages;
use tare_topology::observe::{self, NodePages};
use tare_topology::{MemoryPolicy, ResolvedPlacement};

/// Whether the server's pages are read at the end of a sample. On one node no page can be elsewhere: what is recorded
/// there (`capture`) is read once in a trial.
fn is_due(placement: &ResolvedPlacement, capture: bool, nodes: usize, first: bool) -> bool {
    let verified = placement.pool_memory != MemoryPolicy::Default || memory::named(&placement.memory).is_some();
    if nodes > 1 { verified || capture } else { placement.pool_memory != MemoryPolicy::Default || capture && first }
}

impl SutWatch {
    /// Adds the memory of the server's first process to the covariates of a sample. Nothing is recorded if the process
    /// has ended or may not be inspected, and on kernels without NUMA.
    pub(super) fn add_memory(&mut self, pid: i32, covariates: &mut BTreeMap<String, f64>) -> Result<(), SutError> {
        let first = !std::mem::replace(&mut self.memory_was_read, true);
        let due = is_due(&self.settings.placement, self.settings.memory, memory::nodes(), first);
        let pages = if due { self.pages(pid, covariates)? } else { BTreeMap::new() };
        if let Some(misplaced) = memory::misplaced("the server's memory", &self.settings.placement.memory, &pages) {
            return Err(SutError::Misplaced(misplaced));
        }
        if self.settings.memory {
            covariates.extend(memory::covariates(&pages));
            let huge = due.then(|| observe::huge_memory(pid).ok()).flatten();
            covariates.extend(huge.into_iter().flat_map(memory::huge_covariates));
        }
        Ok(())
    }

    /// The server's pages by node. Pages of a pool with a memory policy of its own are checked here and left out.
    fn pages(&self, pid: i32, covariates: &mut BTreeMap<String, f64>) -> Result<BTreeMap<u32, NodePages>, SutError> {
        let policy = &self.settings.placement.pool_memory;
        if *policy == MemoryPolicy::Default {
            return Ok(observe::pages_by_node(pid).unwrap_or_default());
        }
        let found = observe::pages_by_policy(pid, policy).unwrap_or_default();
        // A shared page counts only for processes that have touched it; a pool that is not shared is in one process.
        let of_processes =
            self.sut.processes().into_iter().filter_map(|pid| Some(observe::pages_by_policy(pid, policy).ok()?.under));
        let bytes = |pages: &BTreeMap<u32, NodePages>| pages.values().map(|pages| pages.bytes).sum::<u64>();
        let pool = of_processes.chain(shared_memory_pages(pid).ok()).max_by_key(bytes).unwrap_or_default();
        if let Some(misplaced) = memory::misplaced("the server's pool", policy, &pool) {
            return Err(SutError::Misplaced(misplaced));
        }
        covariates.extend(memory::pool_covariates(&pool));
        // If both have the same policy, the pool's pages cannot be distinguished from the others.
        Ok(if *policy == self.settings.placement.memory { pool } else { found.others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sut::{LoadAround, SystemUnderTest, WatchSettings};
    use tare_topology::{Bind, Pairing};

    fn placement(memory: &str, pool_memory: &str) -> ResolvedPlacement {
        ResolvedPlacement {
            client: Vec::new(),
            server: Vec::new(),
            background: None,
            bind: Bind::Set,
            pairing: Pairing::None,
            memory: memory.parse().unwrap(),
            pool_memory: pool_memory.parse().unwrap(),
        }
    }

    #[test]
    fn pages_are_read_only_where_they_are_verified_or_recorded() {
        let due = |memory, pool, capture, nodes, first| is_due(&placement(memory, pool), capture, nodes, first);
        // One node: once where they are recorded.
        for memory in ["default", "local", "bind:0"] {
            assert!(due(memory, "default", true, 1, true), "{memory}");
            assert!(!due(memory, "default", true, 1, false) && !due(memory, "default", false, 1, true), "{memory}");
        }
        // Several nodes: in every sample, without the capture only where the placement names nodes.
        for first in [true, false] {
            assert!(due("default", "default", true, 2, first));
            assert!(due("bind:0", "default", false, 2, first) && due("interleave:0-1", "default", false, 2, first));
            assert!(!due("default", "default", false, 2, first) && !due("local", "default", false, 2, first));
            assert!(due("default", "interleave:0", false, 2, first) && due("default", "interleave:0", false, 1, first));
        }
    }

    #[test]
    fn memory_is_in_the_first_sample_of_a_trial_and_with_several_nodes_in_each() {
        let settings = WatchSettings {
            placement: placement("default", "default"),
            chance_seed: 1,
            memory: true,
            schedule: false,
            cache: false,
            probe_share: None,
            spinning: None,
        };
        let mut watch = SutWatch::new(SystemUnderTest::running(Some(std::process::id().cast_signed())), settings);
        let readings = [0; 3].map(|_| {
            watch.start(LoadAround::Idle).unwrap();
            let covariates = watch.finish().unwrap().covariates;
            ["server_memory_bytes_node", "server_transparent_huge_bytes"]
                .map(|name| covariates.keys().filter(|key| key.starts_with(name)).count() > 0)
        });
        let later = memory::nodes() > 1;
        assert_eq!(readings, [[true; 2], [later; 2], [later; 2]]);
    }
}
