//! The table of all keys of a study, by section, in the order of a written study. It is used by parsing, factors,
//! `--set`, writing, plans and the reference page.

use super::key::{CAPTURE, Field, WORKLOAD};
use super::lists;
use super::settings::{AS_FOUND, MOST_WAYS, NO_LIMIT, Settings, environment_bytes, limit, memory_limit, or_as_found};
use std::sync::LazyLock;
use tare_drive::workload::oltp::Workload;
use tare_drive::workload::{AnyLoad, MOST_THREADS};
use tare_engine::{engine_by_name, engine_name, engine_names};
use tare_noise::Setting;
use tare_text::{Key, Value, key};

/// The keys that every study has, by table; the keys of loads are added after those of `[workload]`.
const COMMON: &[(&str, &[Key<Settings>])] = &[
    ("engine", ENGINE),
    ("engine", RUNNING),
    (WORKLOAD, LOAD),
    ("client", CLIENT),
    ("placement", PLACEMENT),
    ("process", PROCESS),
    (CAPTURE, RECORDED),
];

const ENGINE: &[Key<Settings>] = &[
    Key::words(
        "name",
        "the database: sqlite (embedded, as a server process of its own), mariadb, mysql or postgresql",
        |s| Some(s.engine.kind.name().into()),
        |s, v| {
            let name = Value::from(engine_name(&v.to_string())).one_of(&engine_names())?;
            s.engine.kind = engine_by_name(name).map_err(|e| e.to_string())?;
            Ok(())
        },
    ),
    key!(path "binary" in engine.binary, "path of the server binary; as a factor: compares builds"),
    key!(path "data" in engine.data,
        "data directory of a stopped server that already holds the workload's tables; each trial runs on a fresh copy, \
         and the directory is never changed; as a factor: compares data directories; absent: tare prepares and caches \
         the data"),
    Key::words(
        "init_options",
        "further arguments of the program that creates an empty data directory (initdb, mariadb-install-db, mysqld \
         --initialize), for example --data-checksums; as a factor or key of a build: compares data created in \
         different ways; none: no such argument",
        |s| match s.engine.init_options.as_slice() {
            [] => None,
            options => Some(options.join(" ").into()),
        },
        |s, v| {
            let text = v.to_string();
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            s.engine.init_options = if text == "none" { Vec::new() } else { words };
            Ok(())
        },
    ),
    key!(path "defaults_file" in engine.defaults_file,
        "option file (my.cnf, postgresql.conf) that is read when the study is planned: its options count as if they \
         were under [engine.options], where those of the study take precedence; tare still chooses paths, ports and \
         accounts, and the plan lists the options that were left out"),
    Key::words(
        "unknown_options",
        "refuse or leave_out: what to do with options of defaults_file that this server does not know; the plan's \
         notes list those that were left out",
        |s| s.engine.leaves_out_unknown.then(|| "leave_out".into()),
        |s, v| v.one_of(&["refuse", "leave_out"]).map(|word| s.engine.leaves_out_unknown = word == "leave_out"),
    ),
    key!(words "transport" in engine.transport, "socket (Unix) or tcp (loopback)"),
    key!(words "charset" in engine.charset,
        "MariaDB and MySQL: the character set of the load's connections: server (the server's default), utf8mb4, \
         utf8mb3, latin1, ascii or binary; a server converts text if its tables have another character set, which \
         costs CPU time; sysbench, pgbench and commands choose their own"),
    key!(seconds "start_timeout_s" in engine.start_timeout_s, "seconds the server may take to become ready"),
];

/// Keys for a server that is already running, instead of one that is started.
const RUNNING: &[Key<Settings>] = &[
    Key::<Settings>::path(
        "socket",
        "Unix socket of a running server",
        |s| s.engine.running.requested.socket.as_ref(),
        |s, v| s.engine.running.requested.socket = Some(v),
    )
    .in_study(
        ": it is measured as it is and never stopped; only thread affinities are changed, as the placement requires; \
         as a factor: compares servers",
    ),
    key!(text "host" in engine.running.requested.host,
        "host of a running server, for TCP; its threads can be placed on this machine only"),
    key!(optional whole "port" in engine.running.requested.port, (1, 65_535),
        "port of a running server; absent: the engine's usual one"),
    key!(text "user" in engine.running.requested.user,
        "account on a running server; absent: that of your option file, or the engine's usual one"),
    key!(text "database" in engine.running.requested.database,
        "database that holds the tables on a running server; absent: sbtest"),
    key!(path "option_file" in engine.running.requested.option_file,
        "option file with [client] user, password, host, port, socket, ssl-mode and ssl-ca (mariadb, mysql); absent: \
         ~/.my.cnf"),
    key!(text "service" in engine.running.requested.service,
        "service of ~/.pg_service.conf (postgresql); absent: PGSERVICE, if the study measures a running server"),
    Key::<Settings>::words(
        "tls",
        "TLS to a running server: off, preferred, required, verify-ca or verify-full, or a value of MySQL's \
         ssl-mode or PostgreSQL's sslmode; absent: as set in the option file, service or PGSSLMODE, else off",
        |s| s.engine.running.requested.tls.map(|mode| mode.to_string().into()),
        |s, v| v.parsed().map(|mode| s.engine.running.requested.tls = Some(mode)),
    )
    .in_study("; as a factor: the cost of encryption"),
    key!(path "tls_ca" in engine.running.requested.tls_ca,
        "PEM file with the certificates of the trusted authorities; absent: those of the option file or \
         service, else the system's"),
    key!(path "tls_cert" in engine.running.requested.tls_cert,
        "PEM file with the client's certificate, if the server requires one"),
    key!(path "tls_key" in engine.running.requested.tls_key,
        "PEM file with the private key of tls_cert, which other users must not be able to read; absent: it is in \
         tls_cert's file"),
    key!(path "server_public_key" in engine.running.requested.server_public_key,
        "PEM file with the public RSA key of a running MySQL server: encrypts the password if the connection \
         is not encrypted; absent: that of the option file, else the password is not sent over such a connection"),
    key!(optional switch "get_server_public_key" in engine.running.requested.get_server_public_key,
        "whether to accept any public key that the server sends (MySQL's option of this name): only on a network where \
         no one can intercept the connection; absent: as set in the option file, else false"),
    Key::words(
        "restart",
        "program and arguments that restart a running server, before every trial, for example \
         [\"systemctl\", \"restart\", \"mariadb\"]; absent: a trial only reconnects and binds the threads again",
        |s| lists::text(&s.engine.running.restart),
        |s, v| {
            lists::arguments(v, r#"["systemctl", "restart", "mariadb"]"#).map(|words| s.engine.running.restart = words)
        },
    ),
];

/// The keys that every workload has; loads add their own.
const LOAD: &[Key<Settings>] = &[
    Key::words(
        "name",
        "what the clients do: point_select, read_only, read_write, write_only, update_index, update_non_index, insert, \
         delete, bulk_insert, select_random_points, select_random_ranges, dbt3 (TPC-H's 22 queries), sql (statements \
         of your own), sysbench, pgbench, command (any program), or counters (no database)",
        |s| Some(s.workload.load.load().name().into()),
        |s, v| {
            // sysbench's names of its scripts too.
            let name = match Workload::of_script(&v.to_string()) {
                Ok(workload) => workload.name(),
                Err(_) => v.one_of(&AnyLoad::names())?,
            };
            s.workload.load = AnyLoad::named(name).ok_or("a workload")?;
            Ok(())
        },
    ),
    key!(whole "threads" in workload.threads, (1, MOST_THREADS as u64), "client threads, one connection each"),
    key!(seconds "settle_s" in workload.settle.limit_s,
        "longest wait between warm-up and samples, in seconds, with idle clients, until the server has no background \
         work left: InnoDB has purged old row versions and writes no more dirty pages; PostgreSQL has made a \
         checkpoint and autovacuum has nothing to do; SQLite's write-ahead log is empty. If the server has not settled \
         in that time, tare prints a warning; 0: no wait. Not with dbt3, sysbench, pgbench and command"),
    Key::words(
        "settle",
        "statements that the server runs between warm-up and samples, before settle_s: a list, such as [\"VACUUM \
         ANALYZE\"]; none: no statement",
        |s| lists::text(&s.workload.settle.statements),
        |s, v| lists::statements(v).map(|statements| s.workload.settle.statements = statements),
    ),
];

const CLIENT: &[Key<Settings>] = &[
    Key::words(
        "host",
        "host of the client threads for ssh (user@host), if it is not the server's: the same version of tare must be \
         installed there, and placement.client is a location on that host; absent: this host",
        |s| s.client.on.host.clone().map(Into::into),
        |s, v| s.client.on.set_host(v),
    ),
    Key::words(
        "ssh",
        "program that connects to client.host, with its options, for example [\"ssh\", \"-p\", \"2222\"]; tare appends \
         the host and the command to run there; absent: ssh, which must work without asking for a password",
        |s| lists::text(&s.client.on.ssh),
        |s, v| lists::arguments(v, r#"["ssh", "-p", "2222"]"#).map(|words| s.client.on.ssh = words),
    ),
    Key::words(
        "program",
        "path of tare on client.host, for example [\"sudo\", \"/opt/tare/bin/tare\"]; absent: tare",
        |s| lists::text(&s.client.on.program),
        |s, v| lists::arguments(v, r#"["sudo", "/opt/tare/bin/tare"]"#).map(|words| s.client.on.program = words),
    ),
    Key::words(
        "server_address",
        "IP address of this host on which the started server listens for clients on client.host, with a random \
         password; absent: the address from which ssh connects",
        |s| s.client.server_address.map(|address| address.to_string().into()),
        |s, v| s.client.set_server_address(v),
    ),
    Key::switch(
        "spin",
        "on: clients poll their sockets until the server answers instead of sleeping, so that no wake-up is needed; \
         each client needs a CPU of its own. Only with tare's own loads, not with sysbench, pgbench and command",
        // A condition has this key only if its load supports it.
        |s| s.workload.load.load().connects().then_some(s.client.spin),
        |s, on| s.client.spin = on,
    ),
];

const PLACEMENT: &[Key<Settings>] = &[
    key!(words "client" in placement.client,
        "location of the client threads as hwloc-calc writes it (node:0.core:1, cpus:4-7 ...), or float (left to the \
         OS). node:near is the first node with CPUs and memory, node:far the one farthest from it, node:usable all of \
         them; core:performance and core:efficiency are kinds of cores; as a factor: node:each is one level for each \
         node"),
    key!(words "server" in placement.server, "location of the server threads, or float"),
    key!(words "background" in placement.background,
        "location of the server threads that serve no connection (page cleaners, purge, log writer, checkpointer), or \
         float: the location of the server threads"),
    key!(words "bind" in placement.bind,
        "set: all threads of a side share its CPUs, as with numactl; thread: each thread has its own PU"),
    key!(words "pairing" in placement.pairing,
        "where a server thread runs relative to its client: none, same-pu, smt-sibling, same-core, same-cache, \
         other-cache, same-node, other-node"),
    key!(words "memory" in placement.memory,
        "memory policy of the server, or of the workload counters: default, local, bind:NODES, interleave:NODES, \
         weighted-interleave:NODES (Linux 6.9), preferred:NODE"),
    key!(words "pool_memory" in placement.pool_memory,
        "memory policy of the server's buffer pool alone: any for PostgreSQL's shared memory (as root), interleave \
         over all nodes that memory allows for InnoDB's pool (by innodb_numa_interleave), none for SQLite's cache; \
         default: as memory"),
    key!(optional whole "nodes" in placement.nodes, (1, 1024),
        "number of NUMA nodes for both sides: the first ones that have CPUs and memory, with memory interleaved over \
         exactly these unless another policy is given; replaces client and server"),
    Key::words(
        "node_order",
        "with nodes: logical indexes of the nodes to use, in this order, instead of the first ones: the levels 0+2 and \
         0+1 compare two sets of nodes, and nodes = [1, 2] measures each with one node and with two; absent: 0+1+2 and \
         so on",
        |s| {
            let order: Vec<String> = s.placement.node_order.iter().map(u32::to_string).collect();
            (!order.is_empty()).then(|| order.join("+").into())
        },
        |s, v| {
            let order: Result<Vec<u32>, _> = v.to_string().split('+').map(|node| node.trim().parse()).collect();
            s.placement.node_order = order.map_err(|_| "logical indexes of nodes joined by +, such as 0+2")?;
            Ok(())
        },
    ),
    key!(optional whole "caches" in placement.caches, (1, 4096),
        "as nodes, but the number of last-level caches that several cores share (a CCX, a cluster): the first ones, \
         with memory interleaved over their nodes unless another policy is given"),
    key!(words "client_pus" in placement.client_pus,
        "with client_pus_per_node: whether the clients have the first or the last (default) PUs of each node or cache"),
    key!(optional whole "client_pus_per_node" in placement.client_pus_per_node, (1, 65_536),
        "with nodes or caches: number of PUs of each that the clients use; the server uses the others; absent: both \
         sides share all"),
];

const PROCESS: &[Key<Settings>] = &[
    Key::words(
        "aslr",
        "address space layout of the server: on (randomised), off (one fixed layout), layout:N (one of many fixed \
         layouts, N from 1 to 32767) or as-found",
        |s| Some(s.process.aslr.map_or(AS_FOUND.into(), |aslr| aslr.to_string().into())),
        |s, v| or_as_found(v).map(|aslr| s.process.aslr = aslr),
    ),
    Key::words(
        "allocator",
        "memory allocator of the server: system (its own), jemalloc, tcmalloc, the path of a library to preload, or \
         as-found",
        |s| Some(s.process.allocator.as_ref().map_or(AS_FOUND.into(), |a| a.to_string().into())),
        |s, v| or_as_found(v).map(|allocator| s.process.allocator = allocator),
    ),
    Key::words(
        "environment_bytes",
        "size of a padding variable in the server's environment, in bytes, which moves its stack; 0: none",
        |s| Some(s.process.environment_bytes.into()),
        |s, v| environment_bytes(v).map(|bytes| s.process.environment_bytes = bytes),
    ),
    Key::words(
        "memory_limit_bytes",
        "memory limit of the server's control group, page cache included, without swap, such as 512M or in bytes \
         (usually needs root); its data are dropped from the page cache before it starts, so that more data than that \
         are read from storage on any machine; none: no limit",
        |s| Some(s.process.memory_limit_bytes.map_or(NO_LIMIT.into(), Into::into)),
        |s, v| memory_limit(v).map(|bytes| s.process.memory_limit_bytes = bytes),
    ),
    Key::words(
        "l3_ways",
        "number of ways of each L3 cache that the server's threads may fill; other programs may fill them too (Cache \
         Allocation Technology, by resctrl, as root); none: all",
        |s| Some(s.process.cache.l3_ways.map_or(NO_LIMIT.into(), Into::into)),
        |s, v| limit(v, MOST_WAYS, "a number of ways").map(|ways| s.process.cache.l3_ways = ways),
    ),
    Key::words(
        "memory_bandwidth_percent",
        "memory bandwidth that the server's cores may use, in percent (Intel's Memory Bandwidth Allocation, by \
         resctrl, as root); none: all",
        |s| Some(s.process.cache.memory_bandwidth_percent.map_or(NO_LIMIT.into(), Into::into)),
        |s, v| limit(v, 100, "percent").map(|most| s.process.cache.memory_bandwidth_percent = most),
    ),
];

const RECORDED: &[Key<Settings>] = &[
    key!(switch "profile" in capture.profile,
        "on: a sampled profile of the server (perf) in one further sample after the measured ones"),
    key!(words "call_graph" in capture.call_graph,
        "call chains of the profile: dwarf (any build) or fp (cheaper; servers built with frame pointers)"),
    key!(switch "locks" in capture.locks,
        "on: lock waits inside the server in that further sample (MariaDB: starts it with performance_schema=ON)"),
    key!(switch "waits" in capture.waits,
        "on: where the server's threads sleep, with call chains, 150 times per second in that further sample"),
    key!(switch "wakes" in capture.wakes,
        "on: which threads wake those that serve connections, and what these wait for (perf, scheduler tracepoints; \
         root), in that further sample"),
    key!(switch "events" in capture.events,
        "on: cycles, instructions, misses of caches and TLBs, loads from other nodes, context switches and page faults \
         of the clients' and the connections' threads in that further sample (perf stat); without hardware counters, \
         only the kernel's counters"),
    key!(switch "lines" in capture.lines,
        "on: contended cache lines in that further sample: the data in them, which threads write and read them, by \
         node (perf mem; needs a processor that samples accesses to memory, and root or kernel.perf_event_paranoid of \
         0)"),
    key!(switch "status" in capture.status,
        "on: changes of the server's status counters in that further sample, and the InnoDB status at its end"),
    key!(switch "memory" in capture.memory,
        "on (default): memory of the server by node, and hits and misses of the nodes, in every sample"),
    key!(switch "schedule" in capture.schedule,
        "on (default): time that each thread ran, waited for a CPU and slept, in every sample"),
    key!(switch "cache" in capture.cache,
        "on (default): L3 cache occupancy and memory traffic of the server's and the clients' threads, in every \
         sample, if /sys/fs/resctrl is mounted and this user may create groups there (root)"),
];

/// Built once: every start of the program needs some dozens of them.
static ALL: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (section, keys) in COMMON {
        all.extend(keys.iter().map(|key| Field::common(section, key)));
        if *section == WORKLOAD {
            all.extend(of_loads());
        }
    }
    all.extend(Setting::ALL.map(Field::of_machine));
    all
});

/// All keys except the open-ended `engine.options.*`: in the order of a written study, then machine settings.
pub fn all() -> impl Iterator<Item = Field> {
    ALL.iter().copied()
}

/// Every key of every load; a key of several loads is listed once.
fn of_loads() -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for key in AnyLoad::all().iter().flat_map(|load| load.load().keys()) {
        if fields.iter().all(|field| field.key != key.name) {
            fields.push(Field::of_load(key));
        }
    }
    fields
}

pub(crate) fn find(section: &str, key: &str) -> Option<Field> {
    all().find(|f| f.section == section && f.key == key)
}

/// The field that a factor of this name varies; `engine` and `workload` mean their key `name`.
pub(crate) fn factor(name: &str) -> Option<Field> {
    if matches!(name, "engine" | "workload") {
        return find(name, "name");
    }
    all().find(|f| f.key == name && f.key != "name" && f.section != CAPTURE)
}
