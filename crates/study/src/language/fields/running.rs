//! A server that runs already, in place of one that is started.

use super::super::arguments;
use super::super::settings::Settings;
use tare_text::Key;

/// The rows, in the order in which a study is written.
pub const KEYS: &[Key<Settings>] = &[
    Key::<Settings>::path(
        "socket",
        "Unix socket of a server that runs already",
        |s| s.engine.running.asked.socket.as_ref(),
        |s, v| s.engine.running.asked.socket = Some(v),
    )
    .in_study(
        ": it is measured as it is, never stopped, and changed in nothing but the affinities that the placement asks \
         for; as a factor: several servers side by side",
    ),
    Key::text(
        "host",
        "host of a server that runs already, for TCP; its threads can be placed on this machine only",
        |s| s.engine.running.asked.host.as_ref(),
        |s, v| s.engine.running.asked.host = Some(v),
    ),
    Key::whole(
        "port",
        "port of a server that runs already; absent: the engine's usual one",
        (1, 65_535),
        |s| s.engine.running.asked.port.map(Into::into),
        |s, v| s.engine.running.asked.port = Some(v as u16),
    ),
    Key::text(
        "user",
        "account on a server that runs already; absent: that of your option file, or the engine's usual one",
        |s| s.engine.running.asked.user.as_ref(),
        |s, v| s.engine.running.asked.user = Some(v),
    ),
    Key::text(
        "database",
        "database that holds the tables on a server that runs already; absent: sbtest",
        |s| s.engine.running.asked.database.as_ref(),
        |s, v| s.engine.running.asked.database = Some(v),
    ),
    Key::path(
        "option_file",
        "option file with [client] user, password, host, port, socket, ssl-mode and ssl-ca (mariadb, mysql); absent: \
         ~/.my.cnf",
        |s| s.engine.running.asked.option_file.as_ref(),
        |s, v| s.engine.running.asked.option_file = Some(v),
    ),
    Key::text(
        "service",
        "service of ~/.pg_service.conf (postgresql); absent: PGSERVICE, where a server that runs already is asked for",
        |s| s.engine.running.asked.service.as_ref(),
        |s, v| s.engine.running.asked.service = Some(v),
    ),
    Key::<Settings>::words(
        "tls",
        "TLS to a server that runs already: off, preferred, required, verify-ca or verify-full, or the words of \
         MySQL's ssl-mode and PostgreSQL's sslmode; absent: as the option file, service or PGSSLMODE says, else off",
        |s| s.engine.running.asked.tls.map(|mode| mode.to_string().into()),
        |s, v| s.engine.running.set_tls(v),
    )
    .in_study("; as a factor: what encryption costs"),
    Key::path(
        "tls_ca",
        "PEM file with the certificates of the authorities that are believed; absent: those of the option file or \
         service, else the system's",
        |s| s.engine.running.asked.tls_ca.as_ref(),
        |s, v| s.engine.running.asked.tls_ca = Some(v),
    ),
    Key::path(
        "tls_cert",
        "PEM file with the certificate that the client has itself, where the server asks for one",
        |s| s.engine.running.asked.tls_cert.as_ref(),
        |s, v| s.engine.running.asked.tls_cert = Some(v),
    ),
    Key::path(
        "tls_key",
        "PEM file with the private key of tls_cert, which others may not read; absent: it stands in tls_cert's file",
        |s| s.engine.running.asked.tls_key.as_ref(),
        |s, v| s.engine.running.asked.tls_key = Some(v),
    ),
    Key::path(
        "server_public_key",
        "PEM file with the RSA key of a MySQL server that runs already: a password that it asks for is encrypted with it \
         where the connection is not; absent: that of the option file, else no such password is sent",
        |s| s.engine.running.asked.server_public_key.as_ref(),
        |s, v| s.engine.running.asked.server_public_key = Some(v),
    ),
    Key::optional_switch(
        "get_server_public_key",
        "whether any key that the server sends is good enough for that (MySQL's option of this name): only where no one \
         can be in between; absent: as the option file says, else false",
        |s| s.engine.running.asked.get_server_public_key,
        |s, on| s.engine.running.asked.get_server_public_key = Some(on),
    ),
    Key::words(
        "restart",
        "program and arguments that restart a server that runs already, before every trial, for example \
         [\"systemctl\", \"restart\", \"mariadb\"]; absent: a trial is a reconnection and a re-binding",
        |s| arguments::text(&s.engine.running.restart),
        |s, v| s.engine.running.set_restart(v),
    ),
];
