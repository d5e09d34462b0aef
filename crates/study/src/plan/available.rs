//! Checks whether this machine and this user can run a condition. tare sets no option of a server that is already
//! running, so conditions on it cannot differ there.

use super::builds::Programs;
use super::design::Condition;
use super::needs;
use crate::language::settings::{ProcessSettings, Settings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use tare_cpuset::{Limits, Wanted};
use tare_engine::{Address, Binary, Charset, DESCRIPTORS_OF_SESSION, Engine, same_value};
use tare_noise::{Availability, MemoryConfines, MemoryGroups, System};
use tare_topology::bind::may_set_memory_policy;
use tare_topology::{MemoryPolicy, Side};

/// Whether a condition can run here. Without `programs`, no program that the study names is run to find out.
pub(crate) fn available(settings: &Settings, programs: Option<&Programs>) -> Result<(), String> {
    machine(settings)?;
    threads(settings)?;
    memory_policy(settings)?;
    process(settings)?;
    running(settings)?;
    settle(settings)?;
    charset(settings)?;
    spin(settings)?;
    init_options(settings)?;
    if let Some(programs) = programs.filter(|_| settings.starts_a_server()) {
        let binary = programs.of(settings.engine.kind, settings.engine.binary.as_deref())?;
        data(settings, &binary)?;
    }
    let load = settings.workload.load.load();
    load.drives(settings.engine.kind.name())?;
    load.available(settings.workload.threads)
}

/// Each client needs a thread and a connection, and each connection a server thread or process, here or elsewhere.
fn threads(settings: &Settings) -> Result<(), String> {
    /// Threads that run, trial and server have in addition to those that this process has now.
    const THREADS: u64 = 8;
    /// Descriptors that a trial and a server have open in addition to those that this process has now.
    const DESCRIPTORS: u64 = 5;
    /// The limits are read once for all conditions, because a plan can have thousands.
    static NOW: OnceLock<Limits> = OnceLock::new();
    let (requested, running) = (settings.workload.threads as u64, &settings.engine.running);
    let elsewhere = running.requested.host.as_ref().is_some_and(|host| !Address::Tcp(host.clone(), 0).is_here());
    let has_server = settings.workload.load.load().needs_server();
    let clients = if settings.client.on.host.is_some() { 0 } else { requested };
    // The server is another process, with descriptors of its own.
    let for_each = if settings.starts_a_server() { settings.engine.kind.descriptors_of_connection() } else { 0 };
    let of_server = requested.saturating_mul(for_each);
    let of_connections = of_server.max(clients.saturating_mul(DESCRIPTORS_OF_SESSION));
    let wanted = Wanted {
        threads: clients,
        of_others: if has_server && !elsewhere { requested.saturating_add(THREADS) } else { THREADS },
        descriptors: DESCRIPTORS.saturating_add(if has_server { of_connections } else { 0 }),
    };
    let room = NOW.get_or_init(Limits::now).check(wanted);
    room.map_err(|low| format!("workload.threads = {requested}: {low}"))
}

/// The filter of a container may deny the system calls that set a policy.
fn memory_policy(settings: &Settings) -> Result<(), String> {
    /// Tried once for all conditions.
    static MAY: OnceLock<bool> = OnceLock::new();
    let policy = &settings.placement.memory;
    match *policy == MemoryPolicy::Default || *MAY.get_or_init(may_set_memory_policy) {
        true => Ok(()),
        false => Err(format!(
            "memory = {policy}: set_mempolicy(2) is not permitted here, as in a container without CAP_SYS_NICE: docker \
             run --cap-add SYS_NICE"
        )),
    }
}

fn machine(settings: &Settings) -> Result<(), String> {
    let system = System::of_environment();
    for level in &settings.machine {
        if let Availability::NotAvailable { reason } = level.availability(&system) {
            return Err(format!("{}={}: {reason}", level.setting().name(), level.text()));
        }
    }
    Ok(())
}

fn process(settings: &Settings) -> Result<(), String> {
    let (process, load) = (&settings.process, settings.workload.load.load());
    if !load.needs_server() && *process != ProcessSettings::default() {
        return Err(format!("the workload {} has no server process, so [process] has no effect", load.name()));
    }
    if settings.engine.running.is_requested() && *process != ProcessSettings::default() {
        return Err("[process] sets how a server is started, but the study measures a running server".into());
    }
    if let Some(aslr) = process.aslr {
        aslr.available().map_err(|reason| format!("aslr={aslr}: {reason}"))?;
    }
    if let Some(bytes) = process.memory_limit_bytes {
        memory_limit(settings, bytes)?;
    }
    process.cache.check(&System::of_environment()).map_err(|why| why.to_string())?;
    match &process.allocator {
        Some(allocator) => allocator.library().map(drop).map_err(|reason| format!("allocator={allocator}: {reason}")),
        None => Ok(()),
    }
}

/// A memory limit needs a control group, and must be larger than the server's buffer pool.
fn memory_limit(settings: &Settings, limit_bytes: u64) -> Result<(), String> {
    let pool_bytes = needs::pool_bytes(settings);
    if pool_bytes >= limit_bytes {
        let (limit, pool) = (needs::gigabytes(limit_bytes), needs::gigabytes(pool_bytes));
        return Err(format!(
            "memory_limit_bytes = {limit_bytes} ({limit}) does not exceed the server's pool of {pool}, so the kernel \
             would kill the server; make the pool smaller, for example with option.innodb_buffer_pool_size or \
             option.shared_buffers"
        ));
    }
    let confines = MemoryConfines { nodes: None, limit_bytes: Some(limit_bytes) };
    MemoryGroups::here(&confines)
        .map(drop)
        .map_err(|why| format!("memory_limit_bytes = {limit_bytes}: {why}; run as root, or leave it out"))
}

/// Settings that are not available for a server that is already running.
fn running(settings: &Settings) -> Result<(), String> {
    let (running, placement) = (&settings.engine.running, &settings.placement);
    if settings.client.on.host.is_some() && !settings.workload.load.load().parts().is_empty() {
        return Err(
            "order = \"alone\" starts a server for each query, which is not possible with clients on another host"
                .into(),
        );
    }
    if !running.is_requested() {
        let only_there = [("restart", !running.restart.is_empty()), ("tls", running.requested.tls.is_some())];
        return match only_there.into_iter().find(|(_, requested)| *requested) {
            None => Ok(()),
            Some((key, _)) => Err(format!("{key} is for a running server: name it with socket or host")),
        };
    }
    if !settings.workload.load.load().parts().is_empty() {
        return Err(
            "order = \"alone\" starts a server for each query, which is not possible with a running server".into()
        );
    }
    if placement.memory != MemoryPolicy::Default {
        return Err(format!(
            "memory = {} must be set when a server is started, but this one runs already",
            placement.memory
        ));
    }
    let elsewhere = running.requested.host.as_ref().filter(|host| !Address::Tcp((*host).clone(), 0).is_here());
    match elsewhere.filter(|_| placement.server != Side::Float || placement.background != Side::Float) {
        Some(host) => Err(format!("{host} is another machine: its threads can only be placed by a run there")),
        None => Ok(()),
    }
}

/// Clients without pauses leave the server no time to settle.
fn settle(settings: &Settings) -> Result<(), String> {
    let (settle, load) = (&settings.workload.settle, settings.workload.load.load());
    match settle.is_requested() {
        true => load.settles().map_err(|reason| format!("settle_s and settle: {reason}")),
        false => Ok(()),
    }
}

/// The character set can be set if the load opens its connections itself, to a server that converts text.
fn charset(settings: &Settings) -> Result<(), String> {
    let (charset, load) = (settings.engine.charset, settings.workload.load.load());
    if charset == Charset::Server {
        return Ok(());
    }
    let engine = settings.engine.kind;
    if engine.charset_question().is_none() {
        return Err(format!(
            "charset = {charset}: tare cannot choose the character set of connections to {}",
            engine.name()
        ));
    }
    match load.connects() {
        true => Ok(()),
        false => Err(format!("charset = {charset}: the workload {} does not use tare's own connections", load.name())),
    }
}

/// Clients can spin if the load opens its connections itself.
fn spin(settings: &Settings) -> Result<(), String> {
    let load = settings.workload.load.load();
    match settings.client.spin && !load.connects() {
        true => Err(format!("spin: the workload {} does not use tare's own connections", load.name())),
        false => Ok(()),
    }
}

/// Further arguments apply only if a program creates the data directory.
fn init_options(settings: &Settings) -> Result<(), String> {
    let engine = &settings.engine;
    if engine.init_options.is_empty() {
        return Ok(());
    }
    let requested = engine.init_options.join(" ");
    if engine.kind.programs().is_empty() {
        return Err(format!(
            "init_options = {requested}: {} has no program that creates its data directory",
            engine.kind.name()
        ));
    }
    match engine.data.is_some() || engine.running.is_requested() {
        true => Err(format!("init_options = {requested}: the data directory exists already")),
        false => Ok(()),
    }
}

/// The user's own data directory must exist, with a version that the server can open.
fn data(settings: &Settings, binary: &Binary) -> Result<(), String> {
    let Some(path) = &settings.engine.data else { return Ok(()) };
    std::fs::read_dir(path).map_err(|e| format!("the data directory {} cannot be read: {e}", path.display()))?;
    settings.engine.kind.check_data(path, binary).map_err(|e| e.to_string())
}

/// Whether the server knows every option of a condition. Another build of a study may know an option that this one
/// lacks, so a named program stands in the reason.
pub(crate) fn options(settings: &Settings) -> Result<(), String> {
    let (engine, binary) = (settings.engine.kind, settings.engine.binary.as_deref());
    for option in settings.engine.options.keys() {
        if engine.knows_option(option, binary).map_err(|e| e.to_string())? {
            continue;
        }
        let found = binary.and_then(|path| engine.binary(Some(path)).ok());
        return Err(found.map_or_else(
            || unknown_option(engine, option, binary),
            |Binary { product, version, path, .. }| {
                format!("{product} {version} at {} has no option {option}: {PER_BUILD}", path.display())
            },
        ));
    }
    Ok(())
}

const PER_BUILD: &str = "fix its name, or set it only for the builds that have it, under [builds.NAME] of a study";

/// The error for an unknown option, with the nearest known one.
pub(super) fn unknown_option(engine: &dyn Engine, option: &str, binary: Option<&Path>) -> String {
    let names = engine.option_names(binary).unwrap_or_default();
    let near = tare_text::nearest(option, names.iter().map(String::as_str));
    let what = near
        .map_or("fix its name, or measure an engine that has it".to_owned(), |near| format!("did you mean {near}?"));
    format!("{} has no option {option}: {what}", engine.name())
}

/// Refuses conditions whose options differ although they measure the same running server.
pub(crate) fn check(conditions: &[Condition]) -> Result<(), String> {
    // The first condition on each server; a restart command of its own may start it in another way.
    let mut servers: Vec<&Condition> = Vec::new();
    for condition in conditions.iter().filter(|condition| condition.settings.engine.running.is_requested()) {
        let running = &condition.settings.engine.running;
        let Some(first) = servers.iter().find(|first| first.settings.engine.running == *running) else {
            servers.push(condition);
            continue;
        };
        let (one, other) = (&first.settings.engine.options, &condition.settings.engine.options);
        if let Some(option) = different(one, other) {
            return Err(format!(
                "option.{option} differs between `{}` and `{}`, which measure the same running server, and tare sets no \
                 option of a running server: leave out socket and host, so that tare starts servers with these options, \
                 or run a server for each value and compare their sockets (socket=PATH) or ports (port=NUMBER) instead",
                first.name, condition.name
            ));
        }
    }
    Ok(())
}

/// The first option that does not have the same value in both.
fn different<'a>(one: &'a BTreeMap<String, String>, other: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let is_same = |option: &str| match (one.get(option), other.get(option)) {
        (Some(one), Some(other)) => same_value(one, other),
        _ => false,
    };
    one.keys().chain(other.keys()).map(String::as_str).find(|option| !is_same(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::design::conditions;
    use tare_drive::workload::AnyLoad;

    #[test]
    fn more_threads_than_the_system_has_room_for_have_the_limit_as_their_reason() {
        let mut settings = Settings::default();
        assert_eq!(threads(&settings), Ok(()));
        settings.workload.threads = usize::MAX;
        let reason = threads(&settings).unwrap_err();
        assert!(reason.contains("vm.max_map_count") && reason.contains("sudo sysctl -w"), "{reason}");
    }

    #[test]
    fn clients_of_a_program_do_not_spin() {
        let mut settings = Settings::default();
        settings.client.spin = true;
        assert_eq!(spin(&settings), Ok(()));
        settings.workload.load = AnyLoad::named("pgbench").unwrap();
        assert_eq!(spin(&settings).unwrap_err(), "spin: the workload pgbench does not use tare's own connections");
    }

    #[test]
    fn an_option_that_an_engine_does_not_know_has_its_reason() {
        let mut settings = Settings::default();
        settings.engine.options.insert("cache_size".into(), "1".into());
        assert_eq!(options(&settings), Ok(()));
        settings.engine.options.insert("innodb_io_capacity".into(), "1".into());
        let reason = options(&settings).unwrap_err();
        assert!(reason.starts_with("sqlite has no option innodb_io_capacity: "), "{reason}");
    }

    fn checked(engine: &str, factors: &str) -> Result<(), String> {
        let text = format!("name = \"s\"\n[engine]\nname = \"mariadb\"\n{engine}\n[factors]\n{factors}\n");
        let study = parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap();
        check(&conditions(&study).unwrap())
    }

    #[test]
    fn options_of_one_running_server_cannot_differ_between_conditions() {
        let differ = "option.x = [\"on\", 0]";
        let refused = checked("socket = \"/s\"", differ).unwrap_err();
        assert!(refused.starts_with("option.x differs between `option.x=on` and `option.x=0`, which"), "{refused}");
        let again = checked("socket = \"/s\"\nrestart = \"true\"", differ);
        assert!(again.is_err(), "the same command cannot start it in two ways");
        assert_eq!(checked("", differ), Ok(()));
        assert_eq!(checked("socket = \"/s\"", "option.x = [\"on\", 1]\nthreads = [1, 2]"), Ok(()));
    }
}
