//! Which database, and how it is started.

use super::super::settings::Settings;
use tare_engine::{engine_name, engine_names};
use tare_text::{Key, Value};

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::words(
        "name",
        "the database: sqlite (embedded, as a server process of its own), mariadb, mysql or postgresql",
        |s| Some(s.engine.name.clone().into()),
        |s, v| {
            let name = Value::from(engine_name(&v.to_string()));
            name.one_of(&engine_names()).map(|name| s.engine.name = name.to_owned())
        },
    ),
    Key::path(
        "binary",
        "path of the server binary; as a factor: two builds side by side",
        |s| s.engine.binary.as_ref(),
        |s, v| s.engine.binary = Some(v),
    ),
    Key::path(
        "data",
        "data directory of a stopped server that already holds the workload's tables; trials run on a copy of it, \
         brought back before each, and it is never changed; as a factor: data of two builds side by side; absent: made \
         by tare and cached",
        |s| s.engine.data.as_ref(),
        |s, v| s.engine.data = Some(v),
    ),
    Key::words(
        "init_options",
        "further arguments of the program that makes an empty data directory (initdb, mariadb-install-db, mysqld \
         --initialize), for example --data-checksums; as a factor or key of a build: data made in different ways side by \
         side; none: no such argument",
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
    Key::path(
        "defaults_file",
        "option file (my.cnf, postgresql.conf) that is read when the study is planned: its options are as if under \
         [engine.options], where those of the study win; places, ports and accounts stay tare's own, and the plan says \
         which were left out",
        |s| s.engine.defaults_file.as_ref(),
        |s, v| s.engine.defaults_file = Some(v),
    ),
    Key::words(
        "unknown_options",
        "refuse or leave_out: what becomes of options of defaults_file that this server does not know; what is left \
         out stands in the plan's notes",
        |s| s.engine.leaves_out_unknown.then(|| "leave_out".into()),
        |s, v| v.one_of(&["refuse", "leave_out"]).map(|word| s.engine.leaves_out_unknown = word == "leave_out"),
    ),
    Key::words(
        "transport",
        "socket (Unix) or tcp (loopback)",
        |s| Some(s.engine.transport.to_string().into()),
        |s, v| v.parsed().map(|v| s.engine.transport = v),
    ),
    Key::words(
        "charset",
        "MariaDB and MySQL: the character set of the load's connections: server (what the server has as its default), \
         utf8mb4, utf8mb3, latin1, ascii or binary; a server converts what differs from its tables, which costs CPU \
         time; sysbench, pgbench and commands choose their own",
        |s| Some(s.engine.charset.to_string().into()),
        |s, v| v.parsed().map(|v| s.engine.charset = v),
    ),
    Key::seconds(
        "start_timeout_s",
        "seconds the server may take to become ready",
        |s| Some(s.engine.start_timeout_s),
        |s, v| s.engine.start_timeout_s = v,
    ),
];
