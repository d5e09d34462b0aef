//! Which database, and how it is started.

use super::super::field::Field;
use super::super::value::{one_of, seconds};
use tare_engine::{Transport, engine_names};

/// The keys of `[engine]`.
pub const FIELDS: &[Field] = &[
    Field {
        section: "engine",
        key: "name",
        only: None,
        help: "the database: sqlite (embedded, as a server process of its own) or mariadb",
        get: |s| Some(s.engine.name.clone()),
        set: |s, v| one_of(v, &engine_names()).map(|v| s.engine.name = v),
    },
    Field {
        section: "engine",
        key: "binary",
        only: None,
        help: "path of the server binary; as a factor: two builds side by side",
        get: |s| s.engine.binary.as_ref().map(|p| p.display().to_string()),
        set: |s, v| {
            s.engine.binary = Some(v.into());
            Ok(())
        },
    },
    Field {
        section: "engine",
        key: "data",
        only: None,
        help: "data directory of a stopped server that already holds the workload's tables, copied for every trial and \
               never changed; as a factor: data of two builds side by side; absent: made by tare and cached",
        get: |s| s.engine.data.as_ref().map(|p| p.display().to_string()),
        set: |s, v| {
            s.engine.data = Some(v.into());
            Ok(())
        },
    },
    Field {
        section: "engine",
        key: "transport",
        only: None,
        help: "socket (Unix) or tcp (loopback)",
        get: |s| Some(if s.engine.transport == Transport::Tcp { "tcp" } else { "socket" }.into()),
        set: |s, v| {
            let v = one_of(v, &["socket", "tcp"])?;
            s.engine.transport = if v == "tcp" { Transport::Tcp } else { Transport::Socket };
            Ok(())
        },
    },
    Field {
        section: "engine",
        key: "start_timeout_s",
        only: None,
        help: "seconds the server may take to become ready",
        get: |s| Some(s.engine.start_timeout_s.to_string()),
        set: |s, v| seconds(v).map(|v| s.engine.start_timeout_s = v),
    },
];
