//! The messages between a trial and its clients on another host, one JSON line each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use tare_drive::sut::Surroundings;
use tare_drive::workload::{Driven, Progress, TrialSize};
use tare_engine::{Address, Charset, ConnectTarget, PasswordKey, Tls};
use tare_results::schema::{AppliedSetting, Environment};
use tare_text::Value;
use tare_topology::Fingerprint;

/// Version of the messages: raise it when a message changes.
pub const LANGUAGE: u32 = 3;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    pub version: String,
    pub language: u32,
    pub name: String,
    pub environment: Environment,
    pub fingerprint: Fingerprint,
    pub reached_from: Option<IpAddr>,
}

/// How clients reach the server. It contains a password, so it is never printed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Target {
    host: String,
    port: u16,
    user: String,
    password: String,
    database: Option<String>,
    charset: Charset,
    /// The server's public key (PEM), if it has one: it encrypts a password that the server requests.
    key: Option<String>,
}

impl Target {
    /// The target of a server that listens on TCP; none for one that listens on a socket.
    pub fn of(target: &ConnectTarget) -> Option<Self> {
        let Address::Tcp(host, port) = &target.address else { return None };
        let ConnectTarget { user, password, database, charset, tls, .. } = target.clone();
        let key = match tls.password_key {
            PasswordKey::Pem(key) => Some(key),
            PasswordKey::None | PasswordKey::File(_) | PasswordKey::OfServer => None,
        };
        Some(Self { host: host.clone(), port: *port, user, password, database, charset, key })
    }

    /// The address to connect to. Servers that this program starts have no certificates.
    pub fn target(self) -> ConnectTarget {
        ConnectTarget {
            address: Address::Tcp(self.host, self.port),
            user: self.user,
            password: self.password,
            database: self.database,
            charset: self.charset,
            tls: Tls { password_key: self.key.map_or(PasswordKey::None, PasswordKey::Pem), ..Tls::default() },
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Begin {
    /// Every key of the condition with its value.
    pub settings: BTreeMap<String, Value>,
    /// CPUs of each client thread there, or of all of them if they share a set.
    pub cpus: Vec<Vec<u32>>,
    pub target: Target,
    pub counts: TrialSize,
    pub seed: u64,
    /// Whether the server's host runs probes, for which the clients pause.
    pub probes: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    Time,
    Begin(Box<Begin>),
    Go,
    Seen(Box<Surroundings>),
    /// Stop, and restore all settings.
    Stop,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failed {
    pub what: String,
    /// Whether the clients were told to stop, or the program there was interrupted.
    pub interrupted: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromClient {
    Hello(Box<Hello>),
    /// The time there, nanoseconds since 1970.
    Time(i64),
    Holds(Vec<AppliedSetting>),
    Step(Progress),
    /// All clients are connected; the server's thread number for each. It waits for an answer, as do all below.
    Connected(Vec<Option<i32>>),
    Idle,
    Start,
    Finish,
    BeginCaptures,
    EndCaptures,
    /// The clients have ended, and all settings there are restored; no message follows.
    Ended(Box<Result<Driven, Failed>>),
}
