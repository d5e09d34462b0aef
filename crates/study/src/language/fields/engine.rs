//! Which database, and how it is started.

use super::super::key::{Access, Field};
use tare_engine::engine_names;

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "engine",
        key: "name",
        help: "the database: sqlite (embedded, as a server process of its own), mariadb, mysql or postgresql",
        access: Access::Common {
            get: |s| Some(s.engine.name.clone().into()),
            set: |s, v| v.one_of(&engine_names()).map(|v| s.engine.name = v.to_owned()),
        },
    },
    Field {
        section: "engine",
        key: "binary",
        help: "path of the server binary; as a factor: two builds side by side",
        access: Access::Common {
            get: |s| s.engine.binary.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.binary = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "data",
        help: "data directory of a stopped server that already holds the workload's tables; trials run on a copy of \
               it, brought back before each, and it is never changed; as a factor: data of two builds side by side; absent: made by tare and cached",
        access: Access::Common {
            get: |s| s.engine.data.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.data = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "defaults_file",
        help: "option file (my.cnf, postgresql.conf) that is read when the study is planned: its options are as if under \
               [engine.options], where those of the study win; places, ports and accounts stay tare's own, and the plan \
               says which were left out",
        access: Access::Common {
            get: |s| s.engine.defaults_file.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.defaults_file = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "transport",
        help: "socket (Unix) or tcp (loopback)",
        access: Access::Common {
            get: |s| Some(s.engine.transport.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.engine.transport = v),
        },
    },
    Field {
        section: "engine",
        key: "start_timeout_s",
        help: "seconds the server may take to become ready",
        access: Access::Common {
            get: |s| Some(s.engine.start_timeout_s.into()),
            set: |s, v| v.seconds().map(|v| s.engine.start_timeout_s = v),
        },
    },
];
