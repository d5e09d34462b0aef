//! Machine-wide settings of a trial: applied, verified, restored.

use crate::state::{self, StateError};
use tare_noise::{HostLock, MemoryConfines, MemoryGroups, NoiseError, Session, Setting, System};
use tare_results::schema::AppliedSetting;
use tare_study::language::settings::Settings;

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
pub(crate) fn apply(settings: &Settings, confines: &MemoryConfines) -> Result<SettingsGuard, StateError> {
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
