//! `[machine]`: machine-wide settings as factors; names and levels are those of `tare-noise`.

use super::process::AS_FOUND;
use super::settings::Settings;
use tare_noise::{NoiseError, Setting};
use tare_text::Value;

pub fn names() -> Vec<&'static str> {
    Setting::ALL.iter().map(|s| s.name()).collect()
}

/// The key that says that a setting which cannot be had here is done without.
pub const WHERE_POSSIBLE: &str = "where_possible";

pub fn keys() -> Vec<&'static str> {
    names().into_iter().chain([WHERE_POSSIBLE]).collect()
}

pub fn help(name: &str) -> &'static str {
    name.parse::<Setting>().map_or("", Setting::levels)
}

/// Sets a level; `as-found` takes it back.
pub fn set(settings: &mut Settings, name: &str, level: &Value) -> Result<(), String> {
    let setting: Setting = name.parse().map_err(|e: NoiseError| e.to_string())?;
    settings.machine.retain(|level| level.setting() != setting);
    if level.to_string() != AS_FOUND {
        let level = setting.level(&level.to_string()).map_err(|_| format!("{}, or {AS_FOUND}", setting.levels()))?;
        settings.machine.push(level);
        // In one order, however they came: the same settings are equal. Another driver of frequencies takes away what
        // was set before it.
        let of = |setting: Setting| (setting != Setting::IntelPstate, setting.name());
        settings.machine.sort_by_key(|level| of(level.setting()));
    }
    Ok(())
}
