//! Memory policies that servers set themselves: the nodes to which their control group must confine them, and the
//! policy of a buffer pool alone, which not every engine supports.

use super::builds::Programs;
use super::design::Condition;
use crate::language::settings::Settings;
use rustix::process::geteuid;
use tare_cpuset::NodeSet;
use tare_engine::PoolMemory;
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
    let spreads = || settings.engine.kind.spreads_memory(&settings.engine.options, version);
    settings.starts_a_server().then(spreads).flatten()
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

/// Sets in every condition the option for its pool's policy, unless the condition sets that option itself.
pub(super) fn fold_pool_policies(conditions: &mut [Condition]) {
    for settings in conditions.iter_mut().map(|condition| &mut condition.settings) {
        if settings.placement.pool_memory == MemoryPolicy::Default {
            continue;
        }
        if let PoolMemory::Interleaved(option) = settings.engine.kind.pool_memory() {
            settings.engine.options.entry(option.to_owned()).or_insert_with(|| "ON".to_owned());
        }
    }
}

/// Whether a server can have its pool under `pool` and its other memory under `memory`, both resolved; `all` are the
/// nodes that have memory. `here`: on this machine, so that this user's rights apply.
pub(super) fn pool_policy_available(
    settings: &Settings,
    memory: &MemoryPolicy,
    pool: &MemoryPolicy,
    all: &NodeSet,
    here: bool,
) -> Result<(), String> {
    if *pool == MemoryPolicy::Default {
        return Ok(());
    }
    if !settings.starts_a_server() {
        return Err(format!("pool_memory = {pool} is set when a server is started, but this study starts none"));
    }
    match settings.engine.kind.pool_memory() {
        PoolMemory::AsTheRest => Err(format!(
            "pool_memory = {pool}: the cache of {} is ordinary memory of its process; set memory instead",
            settings.engine.kind.name()
        )),
        PoolMemory::Interleaved(option) => interleaved(option, memory, pool, all, settings),
        PoolMemory::Shared if here && !geteuid().is_root() => Err(format!(
            "pool_memory = {pool}: only root can set the memory policy of a server's shared memory; run as root"
        )),
        PoolMemory::Shared => Ok(()),
    }
}

fn interleaved(
    option: &str,
    memory: &MemoryPolicy,
    pool: &MemoryPolicy,
    all: &NodeSet,
    settings: &Settings,
) -> Result<(), String> {
    // If the other memory is bound to given nodes, the server's control group is confined to these.
    let allowed = match memory {
        MemoryPolicy::Bind(Nodes::These(nodes))
        | MemoryPolicy::Interleave(Nodes::These(nodes))
        | MemoryPolicy::WeightedInterleave(Nodes::These(nodes)) => nodes,
        _ => all,
    };
    if *pool != MemoryPolicy::Interleave(Nodes::These(allowed.clone())) {
        return Err(format!(
            "pool_memory = {pool}: InnoDB can only interleave its pool, over all nodes that its control group allows: \
             here interleave:{allowed}, with memory = {memory}"
        ));
    }
    match settings.engine.kind.spreads_memory(&settings.engine.options, "") {
        Some(_) => Ok(()),
        None => Err(format!("pool_memory = {pool} needs {option} = ON, but the study turns it off")),
    }
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

    fn checked(engine: &str, memory: &str, pool: &str) -> Result<(), String> {
        let mut settings = Settings::default();
        settings.engine.kind = engine_by_name(engine).unwrap();
        settings.placement.pool_memory = pool.parse().unwrap();
        let mut conditions = [Condition { name: String::new(), levels: Default::default(), settings }];
        fold_pool_policies(&mut conditions);
        let settings = &conditions[0].settings;
        pool_policy_available(
            settings,
            &memory.parse().unwrap(),
            &settings.placement.pool_memory,
            &"0-3".parse().unwrap(),
            false,
        )
    }

    #[test]
    fn each_engine_has_the_policies_that_it_can_keep_and_reasons_for_the_others() {
        for (engine, memory, pool) in [
            ("mariadb", "local", "interleave:0-3"),
            ("mysql", "default", "interleave:0-3"),
            ("mariadb", "bind:0-1", "interleave:0-1"),
            ("postgresql", "local", "bind:2"),
            ("postgresql", "bind:0", "interleave:0-3"),
            ("sqlite", "local", "default"),
        ] {
            assert_eq!(checked(engine, memory, pool), Ok(()), "{engine} {memory} {pool}");
        }
        for (engine, memory, pool, why) in [
            ("mariadb", "local", "interleave:0-1", "here interleave:0-3"),
            ("mariadb", "bind:0", "interleave:0-3", "here interleave:0, with memory = bind:0"),
            ("mysql", "local", "bind:0", "can only interleave"),
            ("sqlite", "local", "bind:0", "ordinary memory"),
        ] {
            let reason = checked(engine, memory, pool).unwrap_err();
            assert!(reason.contains(why), "{engine} {memory} {pool}: {reason}");
        }
    }
}
