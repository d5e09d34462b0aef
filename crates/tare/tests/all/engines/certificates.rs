//! A private certificate authority, a second one, and certificates signed by the first, made by openssl during a test.

use std::path::{Path, PathBuf};
use std::process::Command;
use tare_engine::StartRequest;

const CONFIG: &str = "[req]
distinguished_name = name
prompt = no
[name]
CN = tare test
[authority]
basicConstraints = critical, CA:TRUE
[server]
subjectAltName = DNS:localhost
[client]
extendedKeyUsage = clientAuth
";

/// A directory of keys and certificates, removed on drop.
pub struct Certificates(tempfile::TempDir);

impl Certificates {
    /// `ca` and `other` are authorities; `server`, for the name localhost only, and `client` are signed by `ca`; `old`
    /// is a certificate of version 1, made as in the servers' manuals.
    pub fn new() -> Self {
        let made = Self(tempfile::Builder::new().prefix("tare").tempdir().unwrap());
        std::fs::write(made.path("config"), CONFIG).unwrap();
        for authority in ["ca", "other"] {
            let (key, pem) = (format!("{authority}.key"), format!("{authority}.pem"));
            let ask = ["req", "-x509", "-config", "config", "-extensions", "authority", "-days", "2"];
            made.openssl(&[&ask[..], &NEW_KEY, &["-keyout", &key, "-out", &pem]].concat());
        }
        made.signed("server", &["-extfile", "config", "-extensions", "server"]);
        made.signed("client", &["-extfile", "config", "-extensions", "client"]);
        made.signed("old", &[]);
        made
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts a server with one of the certificates, reachable by TCP.
    pub fn serve(&self, engine: &str, name: &str, request: &mut StartRequest) {
        let shown = |file: &str| self.path(file).display().to_string();
        let names = match engine {
            "postgresql" => ["ssl_ca_file", "ssl_cert_file", "ssl_key_file"],
            _ => ["ssl_ca", "ssl_cert", "ssl_key"],
        };
        let files = [shown("ca.pem"), shown(&format!("{name}.pem")), shown(&format!("{name}.key"))];
        request.options.extend(names.map(str::to_owned).into_iter().zip(files));
        if engine == "postgresql" {
            request.options.insert("ssl".to_owned(), "on".to_owned());
        }
        request.transport = tare_engine::Transport::Tcp;
    }

    fn signed(&self, name: &str, with: &[&str]) {
        let (key, ask, pem) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
        self.openssl(&[&["req", "-new", "-config", "config"][..], &NEW_KEY, &["-keyout", &key, "-out", &ask]].concat());
        let sign = ["x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
        self.openssl(&[&sign[..], with, &["-in", &ask, "-out", &pem]].concat());
    }

    fn openssl(&self, words: &[&str]) {
        let made = Command::new("openssl").args(words).current_dir(self.0.path()).output();
        let made = made.expect("openssl is missing: sudo apt-get install openssl");
        assert!(made.status.success(), "{words:?}: {}", String::from_utf8_lossy(&made.stderr));
    }
}

const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// A path as options and files name it.
pub fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}
