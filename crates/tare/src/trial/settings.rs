//! Settings of a trial, each verified: of the machine, applied and restored; of the server process, requested before
//! exec and read back from it; and options of the server and its connections.

use super::TrialError;
use crate::state::{self, StateError};
use tare_cpuset::observe;
use tare_drive::workload::Settle;
use tare_engine::{EngineError, Server, StartRequest};
use tare_noise::{HostLock, MemoryConfines, MemoryGroups, NoiseError, Session, Setting, System};
use tare_results::factor;
use tare_results::schema::AppliedSetting;
use tare_results::server::SettledRecord;
use tare_study::language::settings::{EngineSettings, PADDING, PADDING_OVERHEAD, ProcessSettings, Settings};

/// The machine settings of a condition; restored on drop.
pub(crate) struct SettingsGuard {
    session: Option<Session>,
    pub applied: Vec<AppliedSetting>,
}

impl SettingsGuard {
    /// Restores all settings now.
    ///
    /// # Errors
    /// When a setting could not be restored, or another process had changed it, so that the trial ran under that value.
    pub(crate) fn restore(mut self) -> Result<(), NoiseError> {
        match &mut self.session {
            Some(session) => session.close()?.check(),
            None => Ok(()),
        }
    }
}

/// Applies a condition's machine settings, and enables the controllers of the server's control group (version 2).
///
/// # Errors
/// When a setting of an earlier trial is left, or one could not be applied and verified; applied ones are restored.
pub(crate) fn apply_machine(settings: &Settings, confines: &MemoryConfines) -> Result<SettingsGuard, StateError> {
    state::as_found()?;
    let groups = match *confines == MemoryConfines::default() {
        true => Vec::new(),
        false => MemoryGroups::here(confines).unwrap_or_default(),
    };
    let mut to_switch_on = groups.iter().filter_map(MemoryGroups::to_switch_on).peekable();
    if settings.machine.is_empty() && to_switch_on.peek().is_none() {
        return Ok(SettingsGuard { session: None, applied: Vec::new() });
    }
    let lock = HostLock::of_parent(&HostLock::default_dir())?;
    let (mut session, _) = Session::begin(System::of_environment(), &state::directory()?, lock)?;
    let mut applied = Vec::new();
    for (path, controllers) in to_switch_on {
        for controller in controllers {
            session.hand_down(controller, &path.to_string_lossy())?;
        }
    }
    for level in &settings.machine {
        let found = level.setting().read(session.system()).ok();
        session.apply(level)?;
        if level.setting() == Setting::CpuShield && level.cpus().is_some() {
            // The CPUs are taken from every process outside the shield, so this process and its server must enter it.
            session.enter_shield(std::process::id())?;
        }
        let escapes = level.verify(session.system())?;
        let mut verified = match level.setting().read(session.system()) {
            Ok(now) => format!("reads back {now}"),
            // A single action, such as dropping the page cache, has no value to read back.
            Err(_) => "done".to_owned(),
        };
        if session.system().is_fake() {
            verified.push_str(&format!(", in the folder {} alone", session.system().path("/").display()));
        }
        if !escapes.is_empty() {
            verified.push_str(&format!(", but for {}", escapes.join(", ")));
        }
        applied.push(AppliedSetting { found, ..AppliedSetting::new(level.setting().name(), level.text(), verified) });
    }
    Ok(SettingsGuard { session: Some(session), applied })
}

/// Adds the properties to the start request of a server.
///
/// `drawn` is padding for its environment, used if the study sets no length itself.
pub(crate) fn request_process(
    settings: &ProcessSettings,
    drawn: Option<String>,
    request: &mut StartRequest,
) -> Result<(), String> {
    request.aslr = settings.aslr;
    if let Some(allocator) = &settings.allocator {
        // An inherited preload could load an allocator other than the requested one.
        request.environment.insert("LD_PRELOAD".into(), String::new());
        request.allocator_preload = allocator.library()?;
    }
    request.environment.extend(longer_by(settings, drawn).map(|value| (PADDING.to_owned(), value)));
    Ok(())
}

fn longer_by(settings: &ProcessSettings, drawn: Option<String>) -> Option<String> {
    let requested = settings.environment_bytes.checked_sub(PADDING_OVERHEAD).map(|bytes| "x".repeat(bytes));
    requested.or(drawn)
}

/// Reads all properties back from process `pid`.
pub(crate) fn verify_process(settings: &ProcessSettings, pid: u32) -> Result<Vec<AppliedSetting>, EngineError> {
    let mut applied = Vec::new();
    if let Some(aslr) = settings.aslr {
        applied.push(AppliedSetting::new("aslr", aslr, aslr.verify(pid)?));
    }
    if let Some(allocator) = &settings.allocator {
        applied.push(AppliedSetting::new("allocator", allocator, allocator.verify(pid)?));
    }
    if let Some(requested) = settings.memory_limit_bytes {
        applied.push(AppliedSetting::new("memory_limit_bytes", requested, memory_limit(pid, requested)?));
    }
    if let requested @ 1.. = settings.environment_bytes {
        applied.push(AppliedSetting::new("environment_bytes", requested, padding(pid, requested)?));
    }
    Ok(applied)
}

/// The kernel rounds the limit down to whole pages.
fn memory_limit(pid: u32, requested: u64) -> Result<String, EngineError> {
    let found = tare_noise::memory_limit_bytes(pid);
    match found.filter(|found| (requested.saturating_sub(LARGEST_PAGE)..=requested).contains(found)) {
        Some(found) => Ok(format!("the limit of the server's control group reads back {found} bytes")),
        None => Err(EngineError::NotInEffect {
            setting: "memory_limit_bytes",
            requested: requested.to_string(),
            found: found.map_or("no limit".to_owned(), |found| format!("{found} bytes")),
        }),
    }
}

/// The largest page size of any processor that this program supports, bytes.
const LARGEST_PAGE: u64 = 64 << 10;

fn padding(pid: u32, requested: usize) -> Result<String, EngineError> {
    let text = observe::environment(pid.cast_signed()).unwrap_or_default();
    let total = text.len();
    let found = text.split(|byte| *byte == 0).find(|entry| entry.starts_with(PADDING.as_bytes()));
    match found.map(|entry| entry.len() + 1) {
        Some(bytes) if bytes == requested => {
            Ok(format!("{bytes} bytes of {total} in the environment of the server process"))
        }
        found => Err(EngineError::NotInEffect {
            setting: "environment_bytes",
            requested: requested.to_string(),
            found: format!("{} bytes of {PADDING}", found.unwrap_or(0)),
        }),
    }
}

/// Verifies an option that the server was started with. The server accepted the option, or it would not have started;
/// the value is verified only if the server has a variable of that name.
pub(crate) fn verify_option(server: &dyn Server, option: &str, level: &str) -> Result<AppliedSetting, TrialError> {
    let verified = match server.setting(option)? {
        Some(value) => format!("the server reports {value}"),
        None => "not verified: the server was started with it, but has no variable of this name".to_owned(),
    };
    Ok(AppliedSetting::new(factor::of_option(option), level, verified))
}

/// How the trial waited for the server to settle before the first sample; not settling is not an error.
pub(crate) fn how_settled(requested: &Settle, found: &SettledRecord) -> AppliedSetting {
    let level = format!("{} s, {} statements", requested.limit_s, requested.statements.len());
    let left: Vec<String> = found.left.iter().map(|(what, amount)| format!("{what} {amount}")).collect();
    let left = if left.is_empty() { String::new() } else { format!("; then {}", left.join(", ")) };
    let verified = format!(
        "{} after {:.1} s of waiting, statements {:.1} s{left}",
        if found.settled { "settled" } else { "not settled" },
        found.waited_s,
        found.statements_s
    );
    AppliedSetting::new("settle_s", level, verified)
}

/// Verifies the character set of the connections that the load opens; `None` if the engine has no choice.
pub(crate) fn verify_charset(
    requested: &EngineSettings,
    server: &dyn Server,
) -> Result<Option<AppliedSetting>, TrialError> {
    let Some(question) = requested.kind.charset_question() else { return Ok(None) };
    let failed = |source| EngineError::Sql { statement: question.to_owned(), source };
    let rows = server.connect()?.query(question).map_err(failed)?;
    let found = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    if !requested.charset.is(&found) {
        return Err(
            EngineError::NotInEffect { setting: "charset", requested: requested.charset.to_string(), found }.into()
        );
    }
    Ok(Some(AppliedSetting::new("charset", requested.charset, format!("the server reports {found}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_the_environment_size_of_the_study_or_else_the_drawn_one() {
        let padding = |environment_bytes: usize, drawn: Option<&str>| {
            let settings = ProcessSettings { environment_bytes, ..ProcessSettings::default() };
            longer_by(&settings, drawn.map(str::to_owned))
        };
        assert_eq!(padding(0, None), None);
        assert_eq!(padding(0, Some("xxxx")).as_deref(), Some("xxxx"));
        assert_eq!(padding(PADDING_OVERHEAD + 2, Some("xxxx")).as_deref(), Some("xx"));
    }
}
