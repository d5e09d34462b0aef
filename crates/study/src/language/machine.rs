//! `[machine]`: machine-wide settings as factors, with the names and levels of `tare-noise`.

use super::process::AS_FOUND;
use super::settings::Settings;
use tare_noise::{NoiseError, Setting};
use tare_text::Value;

pub fn names() -> Vec<&'static str> {
    Setting::ALL.iter().map(|s| s.name()).collect()
}

/// The key that allows a run without those settings that this machine does not support.
pub(crate) const WHERE_POSSIBLE: &str = "where_possible";

pub(crate) fn keys() -> Vec<&'static str> {
    names().into_iter().chain([WHERE_POSSIBLE]).collect()
}

pub fn help(name: &str) -> &'static str {
    name.parse::<Setting>().map_or("", Setting::levels)
}

/// Sets a level; `as-found` removes it.
pub(crate) fn set(settings: &mut Settings, name: &str, level: &Value) -> Result<(), String> {
    let setting: Setting = name.parse().map_err(|e: NoiseError| e.to_string())?;
    settings.machine.retain(|level| level.setting() != setting);
    if level.to_string() != AS_FOUND {
        let level = setting.level(&level.to_string()).map_err(|_| format!("{}, or {AS_FOUND}", setting.levels()))?;
        settings.machine.push(level);
        // In a fixed order, so that equal settings compare equal. The frequency driver comes first, because changing
        // it resets the settings that depend on it.
        let of = |setting: Setting| (setting != Setting::IntelPstate, setting.name());
        settings.machine.sort_by_key(|level| of(level.setting()));
    }
    Ok(())
}
