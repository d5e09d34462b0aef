//! Keeps a server that sets a memory policy of its own on the nodes of its placement, by the cpuset of its control
//! group: requested at its start, and read back from the running process.

use super::{Trial, TrialError};
use tare_cpuset::NodeSet;
use tare_cpuset::observe::proc_text;
use tare_engine::{EngineError, Server};
use tare_noise::{MemoryConfines, MemoryGroups};
use tare_results::schema::AppliedSetting;
use tare_study::plan::memory_nodes;
use tare_topology::bind::read_memory_policy;
use tare_topology::{Machine, MemoryPolicy, Nodes};

/// The limits that the control group of this trial's server puts on its memory.
pub(super) fn confines(trial: &Trial<'_>) -> Result<MemoryConfines, TrialError> {
    let limit_bytes = trial.task.condition.settings.process.memory_limit_bytes;
    Ok(MemoryConfines { nodes: held(trial)?, limit_bytes })
}

/// The nodes to which the control group must confine the server, if the server would otherwise use others.
fn held(trial: &Trial<'_>) -> Result<Option<NodeSet>, TrialError> {
    let (settings, memory) = (&trial.task.condition.settings, &trial.task.placement.memory);
    if *memory == MemoryPolicy::Default || !settings.workload.load.load().needs_server() {
        return Ok(None);
    }
    let binary = settings.engine.kind.binary(settings.engine.binary.as_deref())?;
    let held = memory_nodes::to_hold(settings, memory, &binary.version).map(|(nodes, _)| nodes);
    // With all nodes there is nothing to confine, and this works without the rights to make control groups.
    Ok(held.filter(|nodes| {
        let confines = MemoryConfines { nodes: Some(nodes.clone()), limit_bytes: None };
        MemoryGroups::here(&confines).is_ok() || !is_all(nodes)
    }))
}

fn is_all(nodes: &NodeSet) -> bool {
    Machine::this().is_ok_and(|machine| machine.memory_nodes() == *nodes)
}

/// The policy that a server inherits before it enters such a group: over all nodes, which the kernel maps onto those of
/// the group. It would map a policy over just these nodes too, and nodes 0 and 2 of four would then both become node 0.
pub(super) fn inherited(policy: &MemoryPolicy) -> Result<MemoryPolicy, TrialError> {
    let all = Nodes::These(Machine::this()?.memory_nodes());
    Ok(match policy {
        MemoryPolicy::Bind(_) => MemoryPolicy::Bind(all),
        MemoryPolicy::Interleave(_) => MemoryPolicy::Interleave(all),
        MemoryPolicy::WeightedInterleave(_) => MemoryPolicy::WeightedInterleave(all),
        other => other.clone(),
    })
}

/// Reads the nodes of the running server's group back.
///
/// # Errors
/// [`EngineError::NotInEffect`] when they differ from the requested nodes.
pub(super) fn verify(
    nodes: &NodeSet,
    policy: &MemoryPolicy,
    server: &dyn Server,
) -> Result<AppliedSetting, TrialError> {
    let pid = server.pid();
    let status = proc_text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:")).unwrap_or_default().trim();
    if allowed.parse::<NodeSet>().ok().as_ref() != Some(nodes) {
        let (requested, found) = (nodes.to_string(), allowed.to_owned());
        return Err(EngineError::NotInEffect { setting: "cpuset.mems", requested, found }.into());
    }
    // InnoDB returns to the kernel's default policy after it has allocated its buffer pool.
    let own = read_memory_policy(pid.cast_signed())?;
    let verified =
        format!("cpuset.mems of the server's control group is {allowed} when read back; the server's own is now {own}");
    Ok(AppliedSetting::new("placement.memory", policy, verified))
}
