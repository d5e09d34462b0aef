//! The server's half of a trial whose clients are on another host: it connects to the clients' host, binds and watches
//! the server's threads and verifies them at the clients' request, and ends when the clients end.

use super::{Trial, TrialError};
use std::net::{IpAddr, TcpListener};
use std::time::{Duration, Instant};
use tare_cpuset::CpuSet;
use tare_drive::sut::{SutError, SutWatch};
use tare_drive::workload::{Driven, Host, LoadError, Progress, TrialSize};
use tare_engine::Server;
use tare_files::Folder;
use tare_results::schema::{AppliedSetting, ClientHost, Environment, RanOn, TrialRecord};
use tare_study::hosts::message::{Ask, Begin, FromClient, Target};
use tare_study::hosts::remote::{ClockOffset, Remote, cut};
use tare_study::language::settings::Settings;
use tare_study::language::values::to_values;
use tare_study::plan::task::OtherMachine;

/// How long clients may take to end on request.
const GRACE: Duration = Duration::from_secs(20);
/// The same after an interruption on this host: when cut off, the clients restore their settings by themselves.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Most steps that are shown per second: clients report one or two.
const STEPS: u32 = 20;
/// Most characters of an error or a setting from the other host.
const LONGEST_MESSAGE: usize = 4000;
/// Most settings that the other host may report: a machine has some dozens.
const SETTINGS: usize = 1000;

pub(crate) struct Clients {
    remote: Remote,
    pub listen: IpAddr,
    applied: Vec<AppliedSetting>,
}

impl Clients {
    /// Connects to the clients' host, if the trial has one, and records which host it is.
    pub(crate) fn reach(trial: &Trial<'_>, record: &mut TrialRecord) -> Result<Option<Self>, TrialError> {
        let client = &trial.task.condition.settings.client;
        let Some(host) = &client.on.host else { return Ok(None) };
        let mut remote = Remote::start(&client.on)?;
        let now = &remote.hello.fingerprint;
        let changes = trial.plan.client_machines.get(host).map(|was| was.changes(now)).unwrap_or_default();
        if !changes.is_empty() {
            return Err(TrialError::OtherClientHost { host: host.clone(), changed: OtherMachine(changes) });
        }
        let ClockOffset { offset_s, uncertainty_s } = remote.clock()?;
        record.client_host = Some(ClientHost {
            requested: host.clone(),
            ran_on: RanOn { host: remote.hello.name.clone(), boot_id: remote.hello.fingerprint.boot_id.clone() },
            clock_offset_s: offset_s,
            clock_uncertainty_s: uncertainty_s,
        });
        keep_environment(trial.directory, host, &remote.hello.environment)?;
        let listen = listen_at(client.server_address.or(remote.hello.reached_from))?;
        Ok(Some(Self { remote, listen, applied: Vec::new() }))
    }

    /// Lets the clients drive the server, and answers their requests.
    ///
    /// # Errors
    /// A failure on either host; everything on both hosts has then ended.
    pub(crate) fn drive(&mut self, job: Job<'_>) -> Result<Driven, LoadError> {
        let Some(target) = Target::of(job.server.target()) else {
            return Err(LoadError::Generator("clients on another host need a server that listens for TCP".into()));
        };
        let cpus = job.cpus.iter().map(|set| set.iter().collect()).collect();
        let begin = Begin {
            settings: to_values(job.settings),
            cpus,
            target,
            counts: job.counts,
            seed: job.seed,
            probes: job.watch.probes(),
        };
        self.remote.say(&Ask::Begin(Box::new(begin)));
        let (watch, host) = (job.watch, job.host);
        let mut half =
            Half { watch, host, failed: None, captures: Captures::ToCome, watched: 0, steps: (Instant::now(), 0) };
        let (began, mut end_requested) = (Instant::now(), None::<Instant>);
        loop {
            if half.wants_an_end() && end_requested.is_none() {
                end_requested = Some(Instant::now());
                self.remote.say(&Ask::Stop);
            }
            let grace = if half.host.interrupted() { AT_ONCE } else { GRACE };
            if end_requested.is_some_and(|received| received.elapsed() > grace) {
                // The connection is cut on return, and the other side then ends by itself.
                return Err(half.failed.unwrap_or(LoadError::Interrupted));
            }
            let Some(received) = self.remote.hear().map_err(|e| half.error(LoadError::own(e)))? else { continue };
            match received {
                FromClient::Holds(applied) => self.applied = applied.into_iter().take(SETTINGS).map(shown).collect(),
                FromClient::Ended(ended) => {
                    let host = self.remote.host();
                    let of_host =
                        |what: &str| LoadError::Generator(format!("on {host}: {}", cut(what, LONGEST_MESSAGE)));
                    return match *ended {
                        Ok(driven) => match unbelievable(&driven, job.counts.samples, half.watched, began.elapsed()) {
                            Some(what) => Err(half.error(of_host(&what))),
                            None => Ok(driven),
                        },
                        Err(failed) if failed.interrupted && half.host.interrupted() => Err(LoadError::Interrupted),
                        Err(failed) => Err(half.error(of_host(&failed.what))),
                    };
                }
                received => {
                    if let Some(answer) = half.answer(received) {
                        self.remote.say(&answer);
                    }
                }
            }
        }
    }

    /// Ends the connection. Returns the settings that were applied there, with their verification.
    pub(crate) fn close(self) -> Vec<AppliedSetting> {
        let host = self.remote.host();
        self.remote.close();
        let there = |setting: AppliedSetting| AppliedSetting {
            factor: format!("client.{}", setting.factor),
            verified: format!("on {host}: {}", setting.verified),
            ..setting
        };
        self.applied.into_iter().map(there).collect()
    }
}

fn shown(setting: AppliedSetting) -> AppliedSetting {
    let AppliedSetting { factor, level, found, verified } = setting;
    let [factor, level, verified] = [factor, level, verified].map(|text| cut(&text, LONGEST_MESSAGE));
    AppliedSetting { factor, level, found: found.map(|text| cut(&text, LONGEST_MESSAGE)), verified }
}

/// Why these cannot be the samples of a trial whose clients ran for this time, `watched` samples or parts of samples of
/// which were watched here; none if they can be.
fn unbelievable(driven: &Driven, wanted: usize, watched: usize, took: Duration) -> Option<String> {
    let sent = driven.samples.len();
    if sent != wanted || watched < sent {
        return Some(format!("it sent {sent} samples, expected {wanted}, and {watched} were watched here"));
    }
    // The clocks of two machines differ by less than this.
    let most = took.as_secs_f64() * 1.01;
    let wrong = driven.samples.iter().map(|sample| sample.elapsed_s).find(|s| !(0.0..=most).contains(s))?;
    Some(format!("it sent a sample of {wrong:e} s, and its clients ran for {most:.1} s"))
}

/// The task of clients on another host.
pub(crate) struct Job<'a> {
    pub server: &'a dyn Server,
    pub settings: &'a Settings,
    pub cpus: &'a [CpuSet],
    pub counts: TrialSize,
    pub seed: u64,
    pub watch: SutWatch,
    pub host: &'a dyn Host,
}

struct Half<'a> {
    watch: SutWatch,
    host: &'a dyn Host,
    /// The error on this host because of which the clients must end.
    failed: Option<LoadError>,
    captures: Captures,
    /// The samples, or parts of samples, that were watched here.
    watched: usize,
    /// When the current second of steps began, and the number of steps in it.
    steps: (Instant, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Captures {
    ToCome,
    UnderWay,
    Over,
}

impl Half<'_> {
    fn wants_an_end(&self) -> bool {
        self.failed.is_some() || self.host.interrupted()
    }

    fn error(&mut self, other: LoadError) -> LoadError {
        self.failed.take().unwrap_or(other)
    }

    /// Shows a step, unless steps arrive faster than any load sends them.
    fn step(&mut self, step: Progress) {
        if self.steps.0.elapsed() >= Duration::from_secs(1) {
            self.steps = (Instant::now(), 0);
        }
        self.steps.1 = self.steps.1.saturating_add(1);
        if self.steps.1 <= STEPS {
            self.host.progress(step);
        }
    }

    /// Performs a request of the clients' half; `None` if there is nothing to answer, or on an error.
    fn answer(&mut self, received: FromClient) -> Option<Ask> {
        let done = match received {
            FromClient::Step(step) => {
                self.step(step);
                return None;
            }
            FromClient::Connected(serving) => self.watch.serves(&serving).map(|()| Ask::Go),
            FromClient::Idle => self.watch.idle().map(|()| Ask::Go),
            FromClient::Start(load) => self.watch.start(load).map(|()| Ask::Go),
            FromClient::Finish => {
                self.watched += 1;
                self.watch.finish().map(|around| Ask::Seen(Box::new(around)))
            }
            FromClient::BeginCaptures if self.captures == Captures::ToCome => {
                self.captures = Captures::UnderWay;
                self.host.begin_captures(&self.watch.sides());
                Ok(Ask::Go)
            }
            FromClient::EndCaptures if self.captures == Captures::UnderWay => {
                self.captures = Captures::Over;
                self.host.end_captures();
                Ok(Ask::Go)
            }
            FromClient::BeginCaptures | FromClient::EndCaptures => {
                Err(SutError::OtherHost("the other host starts or ends captures in the wrong order".to_owned()))
            }
            FromClient::Hello(_) | FromClient::Time(_) | FromClient::Holds(_) | FromClient::Ended(_) => return None,
        };
        done.map_err(|error: SutError| self.failed = Some(error.into())).ok()
    }
}

/// Stores the environment of the clients' host, once per run: each trial checks that the host is the planned one.
fn keep_environment(results: &Folder, host: &str, environment: &Environment) -> Result<(), TrialError> {
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || "@.-_".contains(c) { c } else { '_' }).collect();
    let name = format!("environment-{name}.json");
    if results.file(&name).map_err(LoadError::own)?.is_some() {
        return Ok(());
    }
    let text = serde_json::to_vec_pretty(environment).map_err(LoadError::own)?;
    Ok(results.write(&name, &text).map_err(LoadError::own)?)
}

/// The address at which a server listens: one of this host.
fn listen_at(address: Option<IpAddr>) -> Result<IpAddr, TrialError> {
    let wrong = |what: String| {
        TrialError::Process(format!(
            "{what}: set client.server_address to an address of this host that the clients can reach"
        ))
    };
    let address =
        address.ok_or_else(|| wrong("the clients' host does not report the address that ssh came from".into()))?;
    // At 0.0.0.0 or :: it would listen at every address of this host.
    if address.to_canonical().is_unspecified() {
        return Err(wrong(format!("{address} is no single address")));
    }
    match TcpListener::bind((address, 0)) {
        Ok(_) => Ok(address),
        Err(error) => Err(wrong(format!("no server can listen at {address}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_listens_at_one_address_whatever_the_client_host_reports() {
        let at = |address: &str| listen_at(Some(address.parse().unwrap())).map_err(|e| e.to_string());
        assert_eq!(at("127.0.0.1"), Ok(IpAddr::from([127, 0, 0, 1])));
        for every in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
            let error = at(every).unwrap_err();
            assert!(error.contains("no single address") && error.contains("client.server_address"), "{error}");
        }
        assert!(listen_at(None).is_err());
    }
}
