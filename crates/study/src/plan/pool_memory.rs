//! The memory policy of a server's buffer pool alone: which policies each engine supports.

use super::design::Condition;
use crate::language::settings::Settings;
use rustix::process::geteuid;
use tare_cpuset::NodeSet;
use tare_engine::PoolMemory;
use tare_topology::{MemoryPolicy, Nodes};

/// Sets in every condition the option for its pool's policy, unless the condition sets that option itself.
pub(super) fn fold(conditions: &mut [Condition]) {
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
pub(super) fn available(
    settings: &Settings,
    memory: &MemoryPolicy,
    pool: &MemoryPolicy,
    all: &NodeSet,
    here: bool,
) -> Result<(), String> {
    if *pool == MemoryPolicy::Default {
        return Ok(());
    }
    let load = settings.workload.load.load();
    if !load.needs_server() || settings.engine.running.is_requested() {
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

    fn checked(engine: &str, memory: &str, pool: &str) -> Result<(), String> {
        let mut settings = Settings::default();
        settings.engine.kind = engine_by_name(engine).unwrap();
        settings.placement.pool_memory = pool.parse().unwrap();
        let mut conditions = [Condition { name: String::new(), levels: Default::default(), settings }];
        fold(&mut conditions);
        let settings = &conditions[0].settings;
        available(settings, &memory.parse().unwrap(), &settings.placement.pool_memory, &"0-3".parse().unwrap(), false)
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
