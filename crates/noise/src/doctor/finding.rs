//! One finding of the doctor.

use crate::setting::Setting;
use crate::system::System;
use serde::Serialize;

/// How much a finding matters for a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Nothing has to be changed.
    Good,
    /// For information: it disturbs only some measurements, or cannot be changed.
    Note,
    /// It disturbs measurements, and can be removed.
    Warning,
}

/// A noise source: a setting, a limit or a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name; for a setting, [`crate::Setting::name`].
    pub name: &'static str,
    /// What was found, as text with units.
    pub value: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it may cost; empty if all is good.
    pub cost: String,
    /// The command that removes it until the next reboot.
    pub command: Option<String>,
    /// The line of a study that removes it during a run, `factor = "level"`.
    pub study: Option<String>,
}

impl Finding {
    /// A finding without advice.
    pub(crate) fn new(name: &'static str, value: impl Into<String>, severity: Severity, cost: &str) -> Self {
        let cost = if severity == Severity::Good { String::new() } else { cost.to_owned() };
        Self { name, value: value.into(), severity, cost, command: None, study: None }
    }

    /// A finding that is a warning if `bad`, and good otherwise.
    pub(crate) fn check(name: &'static str, value: impl Into<String>, bad: bool, cost: &str) -> Self {
        Self::new(name, value, if bad { Severity::Warning } else { Severity::Good }, cost)
    }

    /// Adds a command, unless all is good.
    pub(crate) fn command(mut self, command: Option<String>) -> Self {
        self.command = command.filter(|_| self.severity != Severity::Good);
        self
    }

    /// Adds the study's line for a machine-wide level, if this machine supports it (even if only for root), unless all
    /// is good.
    pub(crate) fn study(mut self, system: &System, setting: Setting, text: &str) -> Self {
        let can = setting.level(text).is_ok_and(|level| level.is_here(system));
        self.study = (can && self.severity != Severity::Good).then(|| format!("{setting} = \"{text}\""));
        self
    }
}
