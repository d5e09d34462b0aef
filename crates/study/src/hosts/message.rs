//! The messages between a trial and its clients on another host, one JSON line each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use tare_drive::sut::{LoadAround, Surroundings};
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
    /// Whether the clients were requested to stop, or the program there was interrupted.
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
    Start(LoadAround),
    Finish,
    BeginCaptures,
    EndCaptures,
    /// The clients have ended, and all settings there are restored; no message follows.
    Ended(Box<Result<Driven, Failed>>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_drive::workload::{Extra, Filled, Measured};

    /// What a message of the clients' host names on this host: threads by their numbers, and an address. Every field is
    /// listed, so that none is added without a decision here whether it is a name that this host follows.
    fn followed(message: &FromClient) -> (Vec<i32>, Option<IpAddr>) {
        match message {
            // `listen_at` refuses what is not one address of this host. The environment is recorded, as text, and the
            // machine compared.
            FromClient::Hello(hello) => {
                let Hello { version: _, language: _, name: _, environment: _, fingerprint: _, reached_from } = &**hello;
                (Vec::new(), *reached_from)
            }
            // `SutWatch::serves` follows only those of the server's own processes.
            FromClient::Connected(serving) => (serving.iter().copied().flatten().collect(), None),
            FromClient::Ended(ended) => {
                match &**ended {
                    Ok(driven) => of_load(driven),
                    Err(failed) => {
                        let Failed { what: _, interrupted: _ } = failed;
                    }
                }
                (Vec::new(), None)
            }
            FromClient::Holds(applied) => {
                applied.iter().for_each(of_setting);
                (Vec::new(), None)
            }
            FromClient::Step(
                Progress::Filling(Filled { rows: _, of: _, seconds: _ })
                | Progress::Starting
                | Progress::WarmUp { seconds: _ }
                | Progress::Sample { sample: _, seconds: _ }
                | Progress::Turn
                | Progress::Query { query: _ }
                | Progress::Reading { tps: _, second: _, warming_up: _ }
                | Progress::Stopping,
            )
            | FromClient::Time(_)
            | FromClient::Idle
            | FromClient::Start(_)
            | FromClient::Finish
            | FromClient::BeginCaptures
            | FromClient::EndCaptures => (Vec::new(), None),
        }
    }

    /// Nothing here is followed: figures, and names of metrics and threads that the record has as text.
    fn of_load(driven: &Driven) {
        let Driven { samples, applied, extra, warm_up: _, plans: _, searches: _, pool: _, settled: _ } = driven;
        applied.iter().for_each(of_setting);
        if let Some(Extra { elapsed_s: _, tps: _, tps_ratio: _, statement_us: _ }) = extra {}
        for sample in samples {
            let Measured {
                elapsed_s: _,
                operations: _,
                metrics: _,
                tps_each_second: _,
                covariates: _,
                histograms: _,
                surroundings,
                programs,
            } = sample;
            assert!(programs.is_empty(), "programs are not sent");
            let Surroundings {
                started_at: _,
                covariates: _,
                users: _,
                threads: _,
                watched_s: _,
                used: _,
                client_host: _,
            } = surroundings;
        }
    }

    fn of_setting(applied: &AppliedSetting) {
        let AppliedSetting { factor: _, level: _, found: _, verified: _ } = applied;
    }

    #[test]
    fn the_client_host_names_threads_of_the_server_and_an_address_alone() {
        let read = |text: &str| serde_json::from_str::<FromClient>(text).unwrap();
        assert_eq!(followed(&read(r#"{"connected":[7,null]}"#)), (vec![7], None));
        let sample = Measured { programs: ["/bin/sh".to_owned()].into(), ..Measured::default() };
        let ended = Box::new(Ok(Driven { samples: vec![sample], ..Driven::default() }));
        let sent = serde_json::to_string(&FromClient::Ended(ended)).unwrap();
        let added = sent.replace("\"elapsed_s\"", "\"programs\":[\"/bin/sh\"],\"program\":\"/bin/sh\",\"elapsed_s\"");
        assert_eq!(followed(&read(&added)), (Vec::new(), None));
        assert_eq!(followed(&read(r#"{"start":"goes_on"}"#)), (Vec::new(), None));
        for nothing in ["idle", "finish", "begin_captures", "end_captures"] {
            assert_eq!(followed(&read(&format!("\"{nothing}\""))), (Vec::new(), None));
            let with_fields = format!("{{\"{nothing}\":{{\"program\":\"/bin/sh\"}}}}");
            assert!(serde_json::from_str::<FromClient>(&with_fields).is_err(), "{with_fields}");
        }
    }
}
