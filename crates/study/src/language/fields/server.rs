//! Servers on another host than the one where a study is started.

use super::super::arguments;
use super::super::key::{Access, Field};

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "server",
        key: "host",
        help: "host of the servers as ssh names it (user@host), where that is another than this one, on which the clients \
               then are: the study is run there by the same tare, and its results are brought here; absent: this one",
        access: Access::Common { get: |s| s.server.host.clone().map(Into::into), set: |s, v| s.server.set_host(v) },
    },
    Field {
        section: "server",
        key: "ssh",
        help: "program that reaches server.host, with its options; the host and the command to run there follow; absent: \
               ssh, which must not have to ask for a password",
        access: Access::Common { get: |s| arguments::text(&s.server.ssh), set: |s, v| s.server.set_ssh(v) },
    },
    Field {
        section: "server",
        key: "program",
        help: "this program on server.host, for example [\"sudo\", \"/opt/tare/bin/tare\"]; absent: tare",
        access: Access::Common { get: |s| arguments::text(&s.server.program), set: |s, v| s.server.set_program(v) },
    },
];
