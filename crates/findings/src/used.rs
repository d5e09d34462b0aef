//! The CPUs and memory that a condition gives the server and its clients, in the form that external tools take.

use tare_cpuset::CpuSet;
use tare_results::schema::PlannedCondition;
use tare_topology::MemoryPolicy;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// CPUs of all client threads; empty if left to the OS.
    pub clients: CpuSet,
    /// CPUs of all server threads; empty if left to the OS.
    pub server: CpuSet,
    pub memory: MemoryPolicy,
}

impl Used {
    pub fn of(condition: &PlannedCondition) -> Self {
        let placement = condition.placement.clone().unwrap_or_default();
        let set = |lists: &[Vec<usize>]| lists.iter().flatten().map(|cpu| *cpu as u32).collect::<CpuSet>();
        let background = placement.background.map(|cpus| set(&[cpus])).unwrap_or_default();
        let memory = placement.memory.and_then(|text| text.parse().ok()).unwrap_or_default();
        Self { clients: set(&placement.client), server: set(&placement.server).union(&background), memory }
    }
}
