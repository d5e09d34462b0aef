//! What one key of a study is.

use super::settings::Settings;
use tare_drive::workload::AnyLoad;
use tare_text::Value;

/// One key of a study. As a factor it is known by `key` alone.
#[derive(Clone, Copy)]
pub struct Field {
    /// Table it stands in.
    pub section: &'static str,
    /// Its name in a study file.
    pub key: &'static str,
    /// What it means, for the reference.
    pub help: &'static str,
    /// Where its value lives.
    pub access: Access,
}

/// How the value of a key is read and set.
#[derive(Clone, Copy)]
pub enum Access {
    /// A key that every study has.
    Common {
        /// The present value, none when it is not set.
        get: fn(&Settings) -> Option<Value>,
        /// Sets a value; the error says what was expected.
        set: fn(&mut Settings, &Value) -> Result<(), String>,
    },
    /// A key of the loads that have one of this name.
    Load,
}

impl Field {
    /// The present value; none when it is not set, or the settings' load has no such key.
    pub fn get(&self, settings: &Settings) -> Option<Value> {
        match self.access {
            Access::Common { get, .. } => get(settings),
            Access::Load => settings.workload.load.load().get(self.key),
        }
    }

    /// Sets a value in these settings.
    ///
    /// # Errors
    /// What was expected.
    pub fn set(&self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        match self.access {
            Access::Common { set, .. } => set(settings, value),
            Access::Load => settings.workload.load.load_mut().set(self.key, value),
        }
    }

    /// Whether it means anything to this load.
    pub fn belongs_to(&self, load: &AnyLoad) -> bool {
        match self.access {
            Access::Common { .. } => true,
            Access::Load => load.load().keys().iter().any(|key| key.name == self.key),
        }
    }
}

/// What is captured is no factor: it must not change what is measured.
pub const CAPTURE: &str = "capture";

/// The table that says what the clients do.
pub const WORKLOAD: &str = "workload";
