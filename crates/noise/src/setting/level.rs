//! Levels of a setting: parsing, reading and verifying.

use super::{Setting, cpus, files};
use crate::error::{NoiseError, Result};
use crate::system::System;
use std::fmt;
use tare_cpuset::CpuSet;

/// A valid level of a [`Setting`], created by [`Setting::level`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    setting: Setting,
    text: String,
    cpus: Option<CpuSet>,
}

impl Setting {
    /// The level called `text`.
    ///
    /// # Errors
    /// [`NoiseError::UnknownLevel`] with what was expected.
    pub fn level(self, text: &str) -> Result<Level> {
        let number =
            |low: i32, high: i32| text.parse::<i32>().is_ok_and(|n| n >= low && n <= high && n.to_string() == text);
        let cpus = text.strip_prefix("cpus:").and_then(|list| list.parse::<CpuSet>().ok()).filter(|l| !l.is_empty());
        let known = match self {
            Self::NumaBalancing => ["on", "off", "tiering"].contains(&text),
            Self::NumaDemotion | Self::Turbo | Self::Smt => ["on", "off"].contains(&text),
            Self::Thp => ["always", "madvise", "never"].contains(&text),
            Self::ThpDefrag => ["always", "defer", "defer+madvise", "madvise", "never"].contains(&text),
            Self::IntelPstate => ["active", "passive", "off"].contains(&text),
            Self::Frequency => cpus::is_frequency(text),
            Self::CStates => cpus::is_idle_state(text),
            Self::Swappiness => number(0, 200),
            Self::AslrSystem => number(0, 2),
            Self::PerfEventParanoid => number(-1, 4),
            Self::Governor => !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
            Self::IrqAffinity | Self::CpuShield => text == "off" || cpus.is_some(),
            Self::PageCache => ["keep", "drop"].contains(&text),
        };
        if known {
            // A single spelling per level, so that equal levels compare equal.
            let text = cpus.as_ref().map_or_else(|| text.to_owned(), |list| format!("cpus:{list}"));
            Ok(Level { setting: self, text, cpus })
        } else {
            Err(NoiseError::UnknownLevel { setting: self.name(), level: text.to_owned(), expected: self.levels() })
        }
    }

    /// The level that the machine has now, in the words of [`Setting::levels`]; another word if this is not a level
    /// (`performance+powersave` if frequency domains differ). For interrupts, the CPUs that any interrupt may use.
    ///
    /// # Errors
    /// [`NoiseError::NotAvailable`] when the machine does not support the setting; [`NoiseError::Read`] when it cannot
    /// be read.
    pub fn read(self, system: &System) -> Result<String> {
        match self {
            Self::Frequency => cpus::read_frequency(system),
            Self::CStates => read_c_states(system),
            Self::IrqAffinity => Ok(format!("cpus:{}", cpus::reached_by_interrupts(system))),
            Self::CpuShield => cpus::read_shield(system),
            Self::PageCache => Ok("keep".to_owned()),
            _ => files::read(self, system),
        }
    }
}

impl Level {
    /// The setting of this level.
    pub fn setting(&self) -> Setting {
        self.setting
    }

    /// Its name, as in a study.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The CPUs of `cpus:LIST`.
    pub fn cpus(&self) -> Option<&CpuSet> {
        self.cpus.as_ref()
    }

    /// Reads the setting and checks that the machine has this level, no matter which process set it. Returns tolerated
    /// exceptions: interrupts that this kernel cannot move.
    ///
    /// # Errors
    /// [`NoiseError::NotVerified`] when the level differs; the errors of [`Setting::read`].
    pub fn verify(&self, system: &System) -> Result<Vec<String>> {
        match (self.setting, &self.cpus) {
            (Setting::PageCache, _) | (Setting::IrqAffinity, None) => Ok(Vec::new()),
            (Setting::IrqAffinity, Some(cpus)) => Ok(cpus::interrupts_on(system, cpus)),
            (Setting::Frequency, _) if cpus::is_frequency_held(system, &self.text) => Ok(Vec::new()),
            _ => {
                let found = self.setting.read(system)?;
                if found == self.text {
                    return Ok(Vec::new());
                }
                Err(NoiseError::NotVerified { setting: self.setting.name(), expected: self.text.clone(), found })
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.setting, self.text)
    }
}

/// Path of the latency request device.
pub(crate) const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// Reads the level from the device, which shows the strictest request of all holders as a 32-bit number of microseconds
/// in the machine's byte order (kernel documentation, power/pm_qos_interface).
fn read_c_states(system: &System) -> Result<String> {
    use std::io::Read;
    let path = system.path(DMA_LATENCY);
    let mut us = [0u8; 4];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut us));
    read.map_err(|source| NoiseError::Read { path, source })?;
    Ok(cpus::idle_level(system, i32::from_ne_bytes(us)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_checked() {
        for (setting, good, bad) in [
            (Setting::NumaBalancing, &["on", "off", "tiering"][..], &["1", "On", ""][..]),
            (Setting::NumaDemotion, &["on", "off"], &["true"]),
            (Setting::Thp, &["always", "madvise", "never"], &["[never]", "defer"]),
            (Setting::ThpDefrag, &["defer+madvise"], &["sometimes"]),
            (Setting::Swappiness, &["0", "200"], &["201", "-1", "1e1", "+5", "05", ""]),
            (Setting::AslrSystem, &["0", "1", "2"], &["3", "off"]),
            (Setting::PerfEventParanoid, &["-1", "4"], &["5"]),
            (Setting::Governor, &["performance"], &["", "a b", "../x"]),
            (Setting::IntelPstate, &["active", "passive", "off"], &["on", ""]),
            (Setting::Frequency, &["lowest", "highest", "2400"], &["0", "2.4", "2400MHz", "", "fast"]),
            (Setting::CStates, &["on", "off", "C1", "C6-S"], &["", "C 1", "../x"]),
            (Setting::IrqAffinity, &["off", "cpus:1,2,3"], &["cpus:", "1-2", "cpus:x"]),
            (Setting::CpuShield, &["off", "cpus:0"], &["on"]),
            (Setting::PageCache, &["keep", "drop"], &["3"]),
        ] {
            for text in good {
                assert_eq!(setting.level(text).unwrap().setting(), setting);
            }
            for text in bad {
                let message = setting.level(text).unwrap_err().to_string();
                assert!(message.contains(setting.name()) && message.contains("expected"), "{message}");
            }
        }
        assert_eq!(Setting::IrqAffinity.level("cpus:1,2,3").unwrap().text(), "cpus:1-3");
    }

    #[test]
    fn names_are_unique_and_found() {
        for setting in Setting::ALL {
            assert_eq!(setting.name().parse::<Setting>().unwrap(), setting);
        }
        assert!("numa".parse::<Setting>().unwrap_err().to_string().contains("numa_balancing"));
    }
}
