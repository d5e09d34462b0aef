//! The probes, and how a study uses them.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString};

/// What a probe measures, alongside each sample and on its own PUs while the server is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Display, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Probe {
    /// Dependent loads from memory.
    Chain,
    Spin,
    /// Two threads that wake each other, on the PUs of client and server.
    Wakeup,
}

impl Probe {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Chain, Self::Spin, Self::Wakeup];

    /// The covariate that it is recorded as, nanoseconds.
    pub const fn covariate(self) -> &'static str {
        match self {
            Self::Chain => "probe_chain_ns",
            Self::Spin => "probe_spin_ns",
            Self::Wakeup => "probe_wakeup_ns",
        }
    }

    /// The covariate of a reading that belongs to a single metric of a sample.
    pub fn covariate_of(self, metric: &str) -> String {
        format!("{}_{metric}", self.covariate())
    }
}

/// `sampling.probe`: the study's use of the probes. It is declared before any measurement, because choosing the best
/// adjustment afterwards would be biased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProbeUse {
    #[default]
    Off,
    Record,
    /// Adjusts by the best probe, or none, chosen by the study's own samples before its first trial; without such
    /// samples, like `Record`.
    Auto,
    /// All are recorded, and this one is the control variate of comparisons.
    AdjustBy(Probe),
}

impl ProbeUse {
    pub fn adjusts(self) -> Option<Probe> {
        match self {
            Self::AdjustBy(probe) => Some(probe),
            Self::Off | Self::Record | Self::Auto => None,
        }
    }
}

impl FromStr for ProbeUse {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "off" => Ok(Self::Off),
            "record" => Ok(Self::Record),
            "auto" => Ok(Self::Auto),
            word => word.parse().map(Self::AdjustBy).map_err(|_| "off, record, auto, chain, spin or wakeup".to_owned()),
        }
    }
}

impl fmt::Display for ProbeUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Record => f.write_str("record"),
            Self::Auto => f.write_str("auto"),
            Self::AdjustBy(probe) => probe.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_and_others_are_refused() {
        for word in ["off", "record", "auto", "chain", "spin", "wakeup"] {
            assert_eq!(word.parse::<ProbeUse>().unwrap().to_string(), word);
        }
        assert!("both".parse::<ProbeUse>().unwrap_err().contains("wakeup"));
        assert_eq!("spin".parse::<ProbeUse>().unwrap().adjusts(), Some(Probe::Spin));
    }
}
