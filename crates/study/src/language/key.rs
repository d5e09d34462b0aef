//! A key of a study.

use super::settings::Settings;
use tare_drive::workload::AnyLoad;
use tare_text::{Key, KeyInfo, Value};

/// One key of a study. As a factor it is named by `key` alone.
#[derive(Clone, Copy)]
pub struct Field {
    pub section: &'static str,
    pub key: &'static str,
    /// Its description, with type and range of its values.
    pub info: KeyInfo,
    /// Its declaration if every study has the key; none if it is a key of loads.
    common: Option<&'static Key<Settings>>,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.section, self.key) == (other.section, other.key)
    }
}

impl Field {
    pub(crate) fn common(section: &'static str, key: &'static Key<Settings>) -> Self {
        Self { section, key: key.name, info: key.info(), common: Some(key) }
    }

    pub(crate) fn of_load(key: KeyInfo) -> Self {
        Self { section: WORKLOAD, key: key.name, info: key, common: None }
    }

    pub(crate) fn is_of_load(&self) -> bool {
        self.common.is_none()
    }

    /// The current value; none if it is not set, or if the settings' load has no such key.
    pub(crate) fn get(&self, settings: &Settings) -> Option<Value> {
        match self.common {
            Some(key) => key.get(settings),
            None => settings.workload.load.load().get(self.key),
        }
    }

    pub(crate) fn set(&self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        match self.common {
            Some(key) => key.set(settings, value),
            None => settings.workload.load.load_mut().set(self.key, value),
        }
    }

    /// Whether the value is valid, for a load that has this key.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        match self.common {
            Some(key) => key.set(&mut Settings::default(), value),
            None => {
                let outcomes = self.loads().map(|mut load| load.load_mut().set(self.key, value));
                outcomes.reduce(|one, other| if one.is_ok() { one } else { other }).unwrap_or(Ok(()))
            }
        }
    }

    pub(crate) fn default(&self) -> Option<Value> {
        match self.common {
            Some(key) => key.get(&Settings::default()),
            None => self.loads().find_map(|load| load.load().get(self.key)),
        }
    }

    fn loads(&self) -> impl Iterator<Item = AnyLoad> {
        AnyLoad::all().into_iter().filter(|load| self.belongs_to(load))
    }

    pub(crate) fn belongs_to(&self, load: &AnyLoad) -> bool {
        self.common.is_some() || load.load().keys().iter().any(|key| key.name == self.key)
    }
}

/// Captures are no factor: they must not change what is measured.
pub(crate) const CAPTURE: &str = "capture";

/// The table of the clients' load.
pub(crate) const WORKLOAD: &str = "workload";
