//! The setting that a key of the base, or a level of a factor, changes.

use super::key::Field;
use super::settings::Settings;
use super::{fields, machine};
use tare_results::factor;
use tare_text::Value;

/// One setting of a condition, named either by a key of a study's table or by a factor.
#[derive(Clone, PartialEq)]
pub enum Target {
    Key(Field),
    Option(String),
    Machine(String),
}

impl Target {
    /// What `section.key` of the base sets; none for a key that is not part of a condition (`sampling.trials`).
    pub(crate) fn of_key(section: &str, key: &str) -> Option<Self> {
        match section {
            "engine" => Self::of_build_key(key),
            "machine" => machine::names().contains(&key).then(|| Self::Machine(key.to_owned())),
            _ => fields::find(section, key).map(Self::Key),
        }
    }

    /// The setting that a key of a named build changes: one of `[engine]`, or `options.NAME`.
    pub(crate) fn of_build_key(key: &str) -> Option<Self> {
        match key.strip_prefix("options.") {
            Some(option) => Some(Self::Option(option.to_owned())),
            None => fields::find("engine", key).map(Self::Key),
        }
    }

    /// The setting that a factor changes, if it is neither a named placement nor a named build.
    pub(crate) fn of_factor(name: &str) -> Self {
        match factor::option(name) {
            Some(option) => Self::Option(option.to_owned()),
            None => fields::factor(name).map_or_else(|| Self::Machine(name.to_owned()), Self::Key),
        }
    }

    /// The error describes what was expected.
    pub(crate) fn set(&self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        match self {
            Self::Key(field) => field.set(settings, value),
            Self::Machine(name) => machine::set(settings, name, value),
            Self::Option(option) => {
                settings.engine.options.insert(option.clone(), value.to_string());
                Ok(())
            }
        }
    }
}
