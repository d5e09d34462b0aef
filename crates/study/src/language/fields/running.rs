//! A server that runs already, in place of one that is started.

use super::super::arguments;
use super::super::key::{Access, Field};

/// The rows, in the order in which a study is written.
pub const FIELDS: &[Field] = &[
    Field {
        section: "engine",
        key: "socket",
        help: "Unix socket of a server that runs already: it is measured as it is, never stopped, and changed in nothing \
               but the affinities that the placement asks for; as a factor: several servers side by side",
        access: Access::Common {
            get: |s| s.engine.running.socket.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.socket = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "host",
        help: "host of a server that runs already, for TCP; its threads can be placed on this machine only",
        access: Access::Common {
            get: |s| s.engine.running.host.clone().map(Into::into),
            set: |s, v| {
                s.engine.running.host = Some(v.to_string());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "port",
        help: "port of a server that runs already; absent: the engine's usual one",
        access: Access::Common {
            get: |s| s.engine.running.port.map(|port| usize::from(port).into()),
            set: |s, v| s.engine.running.set_port(v),
        },
    },
    Field {
        section: "engine",
        key: "user",
        help: "account on a server that runs already; absent: that of your option file, or the engine's usual one",
        access: Access::Common {
            get: |s| s.engine.running.user.clone().map(Into::into),
            set: |s, v| {
                s.engine.running.user = Some(v.to_string());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "database",
        help: "database that holds the tables on a server that runs already; absent: sbtest",
        access: Access::Common {
            get: |s| s.engine.running.database.clone().map(Into::into),
            set: |s, v| {
                s.engine.running.database = Some(v.to_string());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "option_file",
        help: "option file with [client] user, password, host, port, socket, ssl-mode and ssl-ca (mariadb, mysql); \
               absent: ~/.my.cnf",
        access: Access::Common {
            get: |s| s.engine.running.option_file.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.option_file = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "service",
        help: "service of ~/.pg_service.conf (postgresql); absent: PGSERVICE, where a server that runs already is asked for",
        access: Access::Common {
            get: |s| s.engine.running.service.clone().map(Into::into),
            set: |s, v| {
                s.engine.running.service = Some(v.to_string());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "tls",
        help: "TLS to a server that runs already: off, preferred, required, verify-ca or verify-full, or the words of MySQL's \
               ssl-mode and PostgreSQL's sslmode; absent: as the option file, service or PGSSLMODE says, else off; as a \
               factor: what encryption costs",
        access: Access::Common {
            get: |s| s.engine.running.tls.map(|mode| mode.to_string().into()),
            set: |s, v| s.engine.running.set_tls(v),
        },
    },
    Field {
        section: "engine",
        key: "tls_ca",
        help: "PEM file with the certificates of the authorities that are believed; absent: those of the option file or service, \
               else the system's",
        access: Access::Common {
            get: |s| s.engine.running.tls_ca.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.tls_ca = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "tls_cert",
        help: "PEM file with the certificate that the client has itself, where the server asks for one",
        access: Access::Common {
            get: |s| s.engine.running.tls_cert.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.tls_cert = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "tls_key",
        help: "PEM file with the private key of tls_cert, which others may not read; absent: it stands in tls_cert's file",
        access: Access::Common {
            get: |s| s.engine.running.tls_key.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.tls_key = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "server_public_key",
        help: "PEM file with the RSA key of a MySQL server that runs already: a password that it asks for is encrypted with it \
               where the connection is not; absent: that of the option file, else no such password is sent",
        access: Access::Common {
            get: |s| s.engine.running.server_public_key.as_ref().map(|p| p.display().to_string().into()),
            set: |s, v| {
                s.engine.running.server_public_key = Some(v.to_string().into());
                Ok(())
            },
        },
    },
    Field {
        section: "engine",
        key: "get_server_public_key",
        help: "whether any key that the server sends is good enough for that (MySQL's option of this name): only where no one \
               can be in between; absent: as the option file says, else false",
        access: Access::Common {
            get: |s| s.engine.running.get_server_public_key.map(Into::into),
            set: |s, v| v.switch().map(|on| s.engine.running.get_server_public_key = Some(on)),
        },
    },
    Field {
        section: "engine",
        key: "restart",
        help: "program and arguments that restart a server that runs already, before every trial, for example \
               [\"systemctl\", \"restart\", \"mariadb\"]; absent: a trial is a reconnection and a re-binding",
        access: Access::Common {
            get: |s| arguments::text(&s.engine.running.restart),
            set: |s, v| s.engine.running.set_restart(v),
        },
    },
];
