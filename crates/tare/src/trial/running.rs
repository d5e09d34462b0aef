//! A trial on a running server: tare connects to it, and never stops or changes it, apart from affinities
//! that the study requests, which are restored, and a restart command of the study.

use super::error::{END_AFTER_CONNECTIONS, LOOK_EVERY};
use super::settings::verify_charset;
use super::{Trial, TrialError};
use crate::state;
use std::collections::BTreeMap;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_cpuset::{ThreadRef, observe};
use tare_drive::sut::{SharedAffinities, SystemUnderTest};
use tare_drive::workload::LoadError;
use tare_engine::{ConnectTarget, EngineError, RunningServer, Server, TlsMode, target_of};
use tare_noise::{HostLock, ThreadAffinities};
use tare_results::factor;
use tare_results::schema::{AppliedSetting, TrialRecord};
use tare_results::store::LOGS;
use tare_study::language::settings::{EngineSettings, Settings};
use tare_topology::ResolvedPlacement;

/// Connects to the server, restarted if the study says how, and records its version, settings and what is uncontrolled.
pub(crate) fn begin(trial: &Trial<'_>, record: &mut TrialRecord) -> Result<RunningServer, TrialError> {
    let settings = &trial.task.condition.settings;
    let command = &settings.engine.running.restart;
    let server = match command.is_empty() {
        true => reach(trial)?,
        false => {
            let (server, proof) = restarted(trial, command)?;
            record.settings.push(AppliedSetting::new("restart", command.join(" "), proof));
            server
        }
    };
    record.server_version = Some(server.version().to_owned());
    record.settings.extend(encryption(&server));
    record.settings.extend(verify_charset(&settings.engine, &server)?);
    for (option, level) in &settings.engine.options {
        record.settings.push(as_requested(settings.engine.kind.name(), &server, option, level)?);
    }
    record.uncontrolled = uncontrolled(settings, &trial.task.placement);
    Ok(server)
}

/// Connects to the server. Without it, every further trial would fail as well.
fn reach(trial: &Trial<'_>) -> Result<RunningServer, TrialError> {
    attach(trial).map_err(|error| match error {
        TrialError::Engine(error) if error.is_unreached() => TrialError::ServerGone(error),
        other => other,
    })
}

/// The error of a load on this server: whether the server is gone, unless the study restarts it.
pub(crate) fn load_error(trial: &Trial<'_>, error: LoadError) -> TrialError {
    let is_unreached = matches!(&error, LoadError::Engine(error) if error.is_unreached());
    let may_be_gone =
        (is_unreached || error.is_connection_lost()) && trial.task.condition.settings.engine.running.restart.is_empty();
    let until = Instant::now() + END_AFTER_CONNECTIONS;
    while may_be_gone && Instant::now() < until {
        if let Err(gone @ TrialError::ServerGone(_)) = reach(trial) {
            return gone;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    error.into()
}

/// Checks that the tables exist, because nothing is created on a running server, and that its options are those of the
/// study, unless a restart may still change them.
pub(crate) fn check_data(trial: &Trial<'_>) -> Result<(), TrialError> {
    let settings = &trial.task.condition.settings;
    let engine = &settings.engine;
    let server = if engine.running.restart.is_empty() { reach(trial)? } else { attach(trial)? };
    for (option, level) in engine.options.iter().filter(|_| engine.running.restart.is_empty()) {
        as_requested(engine.kind.name(), &server, option, level)?;
    }
    let load = settings.workload.load.load();
    load.check_data(&mut *server.connect()?).map_err(|error| {
        let what = format!("{error}; tare creates nothing on a running server: {}", load.how_to_fill());
        TrialError::Load(LoadError::Generator(what))
    })
}

/// Whether the connections are encrypted, if encryption is requested or in use: it costs time on both sides.
fn encryption(server: &RunningServer) -> Option<AppliedSetting> {
    let mode = server.target().tls.mode;
    let verified = match server.encryption() {
        Some(how) => format!("encrypted: {how}"),
        None if mode == TlsMode::Off => return None,
        None => "not encrypted: over a Unix socket, or the server does not offer it".to_owned(),
    };
    Some(AppliedSetting::new("tls", mode, verified))
}

/// An option is only read, not set: a value other than the study's is a different condition.
fn as_requested(
    engine: &'static str,
    server: &RunningServer,
    option: &str,
    level: &str,
) -> Result<AppliedSetting, TrialError> {
    let Some(found) = server.setting(option)? else {
        let reason = format!(
            "the study says {level}, and the running server has no variable of this name to verify it by: \
             leave it out of the study"
        );
        return Err(EngineError::OptionRefused { engine, option: option.to_owned(), reason }.into());
    };
    if !tare_engine::same_value(level, &found) {
        let reason = format!(
            "the study says {level}, the server has {found}, and tare sets nothing on a running server: set it there, \
             or leave it out of the study"
        );
        return Err(EngineError::OptionRefused { engine, option: option.to_owned(), reason }.into());
    }
    let verified = format!("the running server reports {found}; it was not set");
    Ok(AppliedSetting::new(factor::of_option(option), level, verified))
}

/// What a study sets and verifies on a server that it starts, but not on this one.
fn uncontrolled(settings: &Settings, placement: &ResolvedPlacement) -> BTreeMap<String, String> {
    let mut list = BTreeMap::new();
    let mut add = |what: &str, how: &str| list.insert(what.to_owned(), how.to_owned());
    if settings.engine.running.restart.is_empty() {
        add("server lifetime", "the same server in every trial: its memory layout, caches and data carry over");
    }
    add("data", "as the owner keeps them; changes by a load that writes remain");
    add("engine options", "as the owner set them; those that the study names were read, not set");
    add("address space, allocator, environment", "as the server was started");
    add("memory policy", "as the server was started; pages lie where they were first touched");
    add("other clients", "not prevented");
    if placement.server.is_empty() {
        add("connection threads", "placed by the operating system, within what the owner allows");
    }
    if placement.background.is_none() {
        add("background threads", "as placed by the owner");
    }
    list
}

pub(crate) fn binds_server(placement: &ResolvedPlacement) -> bool {
    !placement.server.is_empty() || placement.background.is_some()
}

/// Affinities for the threads of the server, if the placement has any.
pub(crate) fn affinities(placement: &ResolvedPlacement) -> Result<Option<SharedAffinities>, TrialError> {
    if !binds_server(placement) {
        return Ok(None);
    }
    let lock = HostLock::of_parent(&HostLock::default_dir()).map_err(state::StateError::from)?;
    let affinities = ThreadAffinities::new(&state::directory()?, &lock);
    Ok(Some(Arc::new(Mutex::new(affinities))))
}

/// Restores every affinity and verifies it.
pub(crate) fn put_back(affinities: Option<&SharedAffinities>) -> Result<(), TrialError> {
    let Some(affinities) = affinities else { return Ok(()) };
    let report = affinities.lock().unwrap_or_else(PoisonError::into_inner).put_back();
    Ok(report.and_then(|report| report.check()).map_err(state::StateError::from)?)
}

/// Process id and start time of the server's first process, which together identify it.
type Life = Option<(i32, u64)>;

/// Restarts the server and waits until it answers; also returns a description of the proof.
fn restarted(trial: &Trial<'_>, command: &[String]) -> Result<(RunningServer, String), TrialError> {
    let limit = Duration::from_secs_f64(trial.task.condition.settings.engine.start_timeout_s);
    let deadline = Instant::now() + limit;
    // A server that is down is restarted too.
    let before = attach(trial).ok().and_then(|server| life_of(&server));
    let shown = command.join(" ");
    let failed = |why: String| TrialError::Process(format!("restarting the server with `{shown}`: {why}"));
    let status = run_command(trial, command, deadline).map_err(failed)?;
    if !status.success() {
        return Err(failed(format!("it ended with {status}; its output is in the trial's log")));
    }
    let server = loop {
        match attach(trial) {
            Ok(server) => break server,
            Err(e) if Instant::now() > deadline => {
                return Err(failed(format!("no answer within {:.0} s: {e}", limit.as_secs_f64())));
            }
            Err(_) if trial.interrupted.load(Ordering::Relaxed) => return Err(interrupted()),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    };
    match (before, life_of(&server)) {
        (Some(old), Some(new)) if old == new => {
            Err(failed(format!("process {} still runs and was not restarted", new.0)))
        }
        (Some(old), Some(new)) => Ok((server, format!("process {} ended, process {} answers", old.0, new.0))),
        (None, Some(new)) => Ok((server, format!("process {} answers; before, no server did", new.0))),
        (_, None) => {
            Ok((server, "the server answers; tare cannot see from here whether it is another process".to_owned()))
        }
    }
}

fn interrupted() -> TrialError {
    TrialError::Load(LoadError::Interrupted)
}

fn life_of(server: &RunningServer) -> Life {
    let serving = server.connect().ok()?.server_thread().ok()??;
    let mut sut = SystemUnderTest::running(None);
    sut.found(serving);
    let root = sut.root?;
    Some((root, observe::started_ticks(ThreadRef::main_of(root)).ok()?))
}

/// Runs the command with its output in the trial's log; kills it after the deadline.
fn run_command(trial: &Trial<'_>, command: &[String], deadline: Instant) -> Result<ExitStatus, String> {
    let [program, arguments @ ..] = command else { return Err("no program".to_owned()) };
    let log = format!("restart-{:05}-{}.log", trial.task.planned.trial, trial.attempt);
    let log = trial.directory.make_sub(LOGS).and_then(|logs| logs.new_log(&log));
    let log = log.map_err(|e| format!("its log cannot be made: {e}"))?;
    let errors = log.try_clone().map_err(|e| format!("its log cannot be made: {e}"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{program} cannot be run: {e}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(e) => return Err(format!("it cannot be waited for: {e}")),
            Ok(None) if Instant::now() > deadline || trial.interrupted.load(Ordering::Relaxed) => {
                let _ = child.kill(); // it may have ended just now
                let _ = child.wait();
                return Err("it took too long".to_owned());
            }
            Ok(None) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Connects to the server of the study, as the study and the user's own files say.
fn attach(trial: &Trial<'_>) -> Result<RunningServer, TrialError> {
    let settings = &trial.task.condition.settings.engine;
    Ok(RunningServer::attach(settings.kind, target(settings, trial.password.clone())?)?)
}

/// Where a running server is, and how to log in and which character set to use there.
pub(crate) fn target(settings: &EngineSettings, password: Option<String>) -> Result<ConnectTarget, EngineError> {
    let mut target = target_of(settings.running.login(password), settings.kind)?;
    target.charset = settings.charset;
    Ok(target)
}
