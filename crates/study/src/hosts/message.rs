//! What a trial and the clients on another host say to each other, a JSON line each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use tare_drive::sut::Surroundings;
use tare_drive::workload::{Driven, Progress, TrialSize};
use tare_engine::{Address, Charset, ConnectTarget, PasswordKey, Tls};
use tare_results::schema::{AppliedSetting, Environment};
use tare_text::Value;
use tare_topology::Fingerprint;

/// Number of this language: raise it when a message changes.
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

/// How clients reach the server: with a password, so it is never shown.
#[derive(Clone, Serialize, Deserialize)]
pub struct Target {
    host: String,
    port: u16,
    user: String,
    password: String,
    database: Option<String>,
    charset: Charset,
    /// The server's own key (PEM), where it has one: a password that it asks for is encrypted with it.
    key: Option<String>,
}

impl Target {
    /// The target of a server that listens for TCP; none of one that listens at a socket.
    pub fn of(target: &ConnectTarget) -> Option<Self> {
        let Address::Tcp(host, port) = &target.address else { return None };
        let ConnectTarget { user, password, database, charset, tls, .. } = target.clone();
        let key = match tls.password_key {
            PasswordKey::Pem(key) => Some(key),
            PasswordKey::None | PasswordKey::File(_) | PasswordKey::OfServer => None,
        };
        Some(Self { host: host.clone(), port: *port, user, password, database, charset, key })
    }

    /// The address to connect to. Servers that are started here have no certificates.
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
    /// CPUs of each client thread there, or of all where they share a set.
    pub cpus: Vec<Vec<usize>>,
    pub target: Target,
    pub counts: TrialSize,
    pub seed: u64,
    /// Whether the server's host reads probes, for which the clients rest.
    pub probes: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    Time,
    Begin(Box<Begin>),
    Go,
    Seen(Box<Surroundings>),
    /// End, and put everything back.
    Stop,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failed {
    pub what: String,
    /// Whether they were told to end, or the host there was.
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
    /// All are connected: the server's number of the thread behind each. It waits for an answer, as all below do.
    Connected(Vec<Option<i32>>),
    Idle,
    Start,
    Finish,
    BeginCaptures,
    EndCaptures,
    /// The clients have ended, and everything there is as it was found; nothing follows.
    Ended(Box<Result<Driven, Failed>>),
}
