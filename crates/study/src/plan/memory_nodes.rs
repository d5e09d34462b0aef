//! Servers that set a memory policy themselves: the nodes to which their control group must confine them.

use super::builds::Programs;
use crate::language::settings::Settings;
use tare_cpuset::NodeSet;
use tare_noise::{MemoryConfines, MemoryGroups};
use tare_topology::{MemoryPolicy, Nodes};

/// The nodes of a placement that the server would leave because of one of its own options, and that option. `version`
/// is that of its program.
pub fn to_hold(settings: &Settings, memory: &MemoryPolicy, version: &str) -> Option<(NodeSet, &'static str)> {
    let (MemoryPolicy::Bind(Nodes::These(nodes))
    | MemoryPolicy::Interleave(Nodes::These(nodes))
    | MemoryPolicy::WeightedInterleave(Nodes::These(nodes))) = memory
    else {
        return None;
    };
    let load = settings.workload.load.load();
    if !load.needs_server() || settings.engine.running.is_requested() {
        return None;
    }
    let option = settings.engine.kind.spreads_memory(&settings.engine.options, version)?;
    Some((nodes.clone(), option))
}

/// Whether the server of a condition can be confined to its nodes here; `all` are the nodes that have memory.
pub(super) fn available(
    settings: &Settings,
    memory: &MemoryPolicy,
    all: &NodeSet,
    programs: Option<&Programs>,
) -> Result<(), String> {
    let Some(programs) = programs else { return Ok(()) };
    let version = || programs.of(settings.engine.kind, settings.engine.binary.as_deref()).ok();
    if matches!(memory, MemoryPolicy::Default | MemoryPolicy::Local | MemoryPolicy::Preferred(_)) {
        return Ok(());
    }
    let Some((nodes, option)) = version().and_then(|binary| to_hold(settings, memory, &binary.version)) else {
        return Ok(());
    };
    let is_no_option =
        matches!(settings.engine.kind.knows_option(option, settings.engine.binary.as_deref()), Ok(false));
    if nodes == *all || is_no_option {
        return Ok(());
    }
    let shown = nodes.to_string();
    let confines = MemoryConfines { nodes: Some(nodes), limit_bytes: None };
    MemoryGroups::here(&confines).map(drop).map_err(|why| {
        format!(
            "{option} spreads the buffer pool over all nodes regardless of memory = {memory}, and only a cpuset keeps \
             it on nodes {shown}: {why}; run as root, or set {option} = 0"
        )
    })
}
