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
    Some((nodes.clone(), spreading(settings, version)?))
}

/// The option by which a server that the study starts spreads its memory itself.
fn spreading(settings: &Settings, version: &str) -> Option<&'static str> {
    let load = settings.workload.load.load();
    if !load.needs_server() || settings.engine.running.is_requested() {
        return None;
    }
    settings.engine.kind.spreads_memory(&settings.engine.options, version)
}

/// The option that, by the default of this version alone, leaves a policy without named nodes no effect on the pool.
fn overrules(settings: &Settings, memory: &MemoryPolicy, version: &str) -> Option<&'static str> {
    const NO_VERSION: &str = "";
    let is_unnamed = matches!(memory, MemoryPolicy::Local | MemoryPolicy::Preferred(_));
    let option = spreading(settings, version).filter(|_| is_unnamed)?;
    spreading(settings, NO_VERSION).is_none().then_some(option)
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
    let has_option = |option: &str| {
        !matches!(settings.engine.kind.knows_option(option, settings.engine.binary.as_deref()), Ok(false))
    };
    if matches!(memory, MemoryPolicy::Default) {
        return Ok(());
    }
    let Some(binary) = version() else { return Ok(()) };
    if let Some(option) = overrules(settings, memory, &binary.version).filter(|_| all.len() > 1)
        && has_option(option)
    {
        return Err(format!(
            "{option} is on by default in {} {}, and spreads the buffer pool over all nodes regardless of memory = \
             {memory}; set {option} = 0",
            binary.product, binary.version
        ));
    }
    let Some((nodes, option)) = to_hold(settings, memory, &binary.version) else { return Ok(()) };
    if nodes == *all || !has_option(option) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::engine_by_name;

    #[test]
    fn a_pool_that_a_newer_server_interleaves_by_default_has_no_local_memory() {
        let overruled = |engine: &str, version: &str, memory: &str, option: Option<&str>| {
            let mut settings = Settings::default();
            settings.engine.kind = engine_by_name(engine).unwrap();
            let given = option.map(|value| ("innodb_numa_interleave".to_owned(), value.to_owned()));
            settings.engine.options = given.into_iter().collect();
            overrules(&settings, &memory.parse().unwrap(), version).is_some()
        };
        for memory in ["local", "preferred:0"] {
            assert!(overruled("mysql", "8.4.0", memory, None) && overruled("mysql", "9.7.1", memory, None), "{memory}");
            assert!(!overruled("mysql", "9.7.1", memory, Some("0")), "{memory}");
            // As requested: the pool apart from the rest.
            assert!(!overruled("mysql", "9.7.1", memory, Some("1")), "{memory}");
            assert!(!overruled("mysql", "8.0.44", memory, None) && !overruled("mariadb", "11.8.3", memory, None));
        }
        assert!(!overruled("mysql", "9.7.1", "default", None) && !overruled("mysql", "9.7.1", "interleave:0-1", None));
    }
}
