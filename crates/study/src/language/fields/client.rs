//! Clients on another host than their server.

use super::super::arguments;
use super::super::key::{Access, Field};

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "client",
        key: "host",
        help: "host of the client threads as ssh names it (user@host), where that is another than the server's: the same \
               tare must be there, and placement.client is a location of that host; absent: this one",
        access: Access::Common {
            get: |s| s.client.on.host.clone().map(Into::into),
            set: |s, v| s.client.on.set_host(v),
        },
    },
    Field {
        section: "client",
        key: "ssh",
        help: "program that reaches client.host, with its options, for example [\"ssh\", \"-p\", \"2222\"]; the host and \
               the command to run there follow; absent: ssh, which must not have to ask for a password",
        access: Access::Common { get: |s| arguments::text(&s.client.on.ssh), set: |s, v| s.client.on.set_ssh(v) },
    },
    Field {
        section: "client",
        key: "program",
        help: "this program on client.host, for example [\"sudo\", \"/opt/tare/bin/tare\"]; absent: tare",
        access: Access::Common {
            get: |s| arguments::text(&s.client.on.program),
            set: |s, v| s.client.on.set_program(v),
        },
    },
    Field {
        section: "client",
        key: "server_address",
        help: "IP address of this host at which a server that is started listens for clients on client.host, with a \
               random password; absent: the one from which ssh comes there",
        access: Access::Common {
            get: |s| s.client.server_address.map(|address| address.to_string().into()),
            set: |s, v| s.client.set_server_address(v),
        },
    },
];
