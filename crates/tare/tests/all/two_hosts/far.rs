//! The other host: a world of its own, and connections to it.

use crate::support::{Ended, World, text};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directories of the other host, next to those of this host.
const KEEPS: [(&str, &str); 4] = [
    ("TARE_STATE_DIR", "far-state"),
    ("TARE_CACHE_DIR", "far-cache"),
    ("TARE_LOCK_DIR", "far-lock"),
    ("XDG_RUNTIME_DIR", "far-run"),
];

/// The command that starts this program on the other host; `more` are further variables.
pub fn program(world: &World, more: &[(&str, PathBuf)]) -> Vec<String> {
    let keeps = KEEPS.iter().map(|(name, folder)| (*name, world.path(folder)));
    let mut words = vec!["env".to_owned()];
    for (name, path) in keeps.chain(more.iter().cloned()) {
        let _ = std::fs::create_dir_all(&path);
        words.push(format!("{name}={}", path.display()));
    }
    words.push(env!("CARGO_BIN_EXE_tare").to_owned());
    words
}

/// A connection without ssh: the command runs on this host.
pub fn no_way() -> Vec<String> {
    ["sh", "-c", "exec sh -c \"$1\""].map(str::to_owned).to_vec()
}

/// The section `[client]` of a study.
pub fn section(host: &str, ssh: &[String], program: &[String], address: Option<&str>) -> String {
    let address = address.map_or(String::new(), |address| format!("server_address = \"{address}\"\n"));
    format!(
        "[client]\nhost = \"{host}\"\nssh = {}\nprogram = {}\n{address}",
        serde_json::json!(ssh),
        serde_json::json!(program)
    )
}

/// Whether this user may log in: `nobody` may not, because sshd runs every command with the user's shell.
pub fn may_log_in() -> bool {
    let user = rustix::process::getuid().as_raw().to_string();
    let entry = Command::new("getent").args(["passwd", &user]).output().unwrap();
    let entry = text(&entry.stdout);
    !["nologin", "false"].iter().any(|shell| entry.trim().ends_with(shell))
}

/// The path of a program; panics with its package if it is missing.
pub fn installed(name: &str, package: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let found = folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install {package}"))
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An sshd of the test's own, with a temporary key.
pub struct Sshd {
    pub child: Ended,
    /// The ssh command that connects to it.
    pub ssh: Vec<String>,
}

impl Sshd {
    /// Starts sshd at an address; `around` is a command that starts it, for instance in another network.
    pub fn start(world: &World, address: &str, around: &[&str]) -> Self {
        let port = free_port();
        for name in ["key", "host_key"] {
            let made = Command::new(installed("ssh-keygen", "openssh-client"))
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(world.path(name))
                .status()
                .unwrap();
            assert!(made.success());
        }
        let top = world.directory.path().display();
        std::fs::copy(world.path("key.pub"), world.path("authorized_keys")).unwrap();
        // Debian's sshd needs this directory when run as root; normally its service makes it.
        let _ = std::fs::create_dir_all("/run/sshd");
        let configuration = format!(
            "ListenAddress {address}\nPort {port}\nHostKey {top}/host_key\nAuthorizedKeysFile {top}/authorized_keys\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nLogLevel ERROR\n"
        );
        std::fs::write(world.path("sshd_config"), configuration).unwrap();
        let sshd = installed("sshd", "openssh-server");
        let mut words: Vec<String> = around.iter().map(|word| (*word).to_owned()).collect();
        words.extend([sshd.display().to_string(), "-D".into(), "-e".into(), "-f".into()]);
        words.push(world.path("sshd_config").display().to_string());
        let child = Command::new(&words[0]).args(&words[1..]).stderr(Stdio::null()).spawn().unwrap();
        let ssh = format!(
            "{} -T -p {port} -F none -i {top}/key -o BatchMode=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10 -o ConnectionAttempts=5",
            installed("ssh", "openssh-client").display()
        );
        Self { child: Ended(child), ssh: ssh.split_whitespace().map(str::to_owned).collect() }
    }
}
