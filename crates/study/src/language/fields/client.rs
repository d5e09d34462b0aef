//! Clients on another host than their server.

use super::super::arguments;
use super::super::settings::Settings;
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::words(
        "host",
        "host of the client threads as ssh names it (user@host), where that is another than the server's: the same \
         tare must be there, and placement.client is a location of that host; absent: this one",
        |s| s.client.on.host.clone().map(Into::into),
        |s, v| s.client.on.set_host(v),
    ),
    Key::words(
        "ssh",
        "program that reaches client.host, with its options, for example [\"ssh\", \"-p\", \"2222\"]; the host and the \
         command to run there follow; absent: ssh, which must not have to ask for a password",
        |s| arguments::text(&s.client.on.ssh),
        |s, v| s.client.on.set_ssh(v),
    ),
    Key::words(
        "program",
        "this program on client.host, for example [\"sudo\", \"/opt/tare/bin/tare\"]; absent: tare",
        |s| arguments::text(&s.client.on.program),
        |s, v| s.client.on.set_program(v),
    ),
    Key::words(
        "server_address",
        "IP address of this host at which a server that is started listens for clients on client.host, with a random \
         password; absent: the one from which ssh comes there",
        |s| s.client.server_address.map(|address| address.to_string().into()),
        |s, v| s.client.set_server_address(v),
    ),
];
