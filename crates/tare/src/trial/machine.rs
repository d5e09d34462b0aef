//! Machine-wide settings as factors: names and levels are those of `tare-noise`.

use crate::run::state::{self, StateError};
use crate::study::settings::{AS_FOUND, Settings};
use tare_noise::{Availability, HostLock, NoiseError, Session, Setting, System};
use tare_results::schema::AppliedSetting;

/// Names of all settings.
pub fn names() -> Vec<&'static str> {
    Setting::ALL.iter().map(|s| s.name()).collect()
}

/// The levels of a setting, in words.
pub fn help(name: &str) -> &'static str {
    name.parse::<Setting>().map_or("", Setting::levels)
}

/// Sets a level; `as-found` takes it back.
///
/// # Errors
/// What was expected.
pub fn set(settings: &mut Settings, name: &str, level: &str) -> Result<(), String> {
    let setting: Setting = name.parse().map_err(|e: NoiseError| e.to_string())?;
    if level == AS_FOUND {
        settings.machine.remove(name);
        return Ok(());
    }
    setting.level(level).map_err(|_| format!("{}, or {AS_FOUND}", setting.levels()))?;
    settings.machine.insert(name.to_owned(), level.to_owned());
    Ok(())
}

/// Whether this machine has, and this user may set, all that the condition asks.
///
/// # Errors
/// The reason, when not.
pub fn available(settings: &Settings) -> Result<(), String> {
    let system = System::of_environment();
    for (name, level) in &settings.machine {
        let level = parse(name, level).map_err(|e| e.to_string())?;
        if let Availability::NotAvailable { reason } = level.availability(&system) {
            return Err(format!("{name}={}: {reason}", level.text()));
        }
    }
    Ok(())
}

/// The machine as a condition wants it; put back when dropped.
pub struct Held {
    session: Option<Session>,
    /// What was set, and the proof.
    pub applied: Vec<AppliedSetting>,
}

impl Held {
    /// Puts everything back now.
    ///
    /// # Errors
    /// With what could not be, or what somebody else had changed meanwhile: then the trial ran under another's setting.
    pub fn restore(mut self) -> Result<(), NoiseError> {
        match &mut self.session {
            Some(session) => session.close()?.check(),
            None => Ok(()),
        }
    }
}

/// Applies every machine setting of a condition.
///
/// # Errors
/// When a setting of an earlier trial is left, or one could not be set and verified; what was set until then is put
/// back.
pub fn apply(settings: &Settings) -> Result<Held, StateError> {
    state::as_found()?;
    if settings.machine.is_empty() {
        return Ok(Held { session: None, applied: Vec::new() });
    }
    let lock = HostLock::of_parent(&HostLock::default_dir())?;
    let (mut session, _) = Session::begin(System::of_environment(), &state::directory()?, lock)?;
    let mut applied = Vec::new();
    for (name, text) in &settings.machine {
        let level = parse(name, text)?;
        let found = level.setting().read(session.system()).ok();
        session.apply(&level)?;
        if level.setting() == Setting::CpuShield && level.cpus().is_some() {
            // The CPUs are taken from every other process, and so from this one and its server, unless it goes inside.
            session.enter_shield(std::process::id())?;
        }
        let escapes = level.verify(session.system())?;
        let mut verified = match level.setting().read(session.system()) {
            Ok(now) => format!("reads back {now}"),
            // What is done once, such as dropping the page cache, leaves nothing to read.
            Err(_) => "done".to_owned(),
        };
        if session.system().is_fake() {
            verified.push_str(&format!(", in the folder {} alone", session.system().path("/").display()));
        }
        if !escapes.is_empty() {
            verified.push_str(&format!(", but for {}", escapes.join(", ")));
        }
        applied.push(AppliedSetting { factor: name.clone(), level: text.clone(), found, verified });
    }
    Ok(Held { session: Some(session), applied })
}

fn parse(name: &str, level: &str) -> Result<tare_noise::Level, NoiseError> {
    name.parse::<Setting>()?.level(level)
}
