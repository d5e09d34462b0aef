//! How many warehouses, and how they are worked on.

use super::Sizes;
use crate::workload::sessions::Pace;
use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TpccSettings {
    /// How many warehouses the tables hold; each client thread has one of them as its own.
    pub warehouses: u64,
    /// Share of the standard's items and customers, above 0 and at most 1: for short tests.
    pub scale: f64,
    /// Whether clients wait as people do who type and think.
    pub keying: bool,
    /// How fast clients go; closed: as fast as they can, or as keying lets them.
    pub pace: Pace,
    /// Which consistency conditions are checked after the last sample.
    pub checked: Checked,
}

/// Which consistency conditions are checked after the last sample of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = unknown)]
pub enum Checked {
    /// All twelve.
    #[default]
    All,
    /// The first four, which read no row of the largest table but counts them.
    Four,
    Off,
}

fn unknown(found: &str) -> UnknownWord {
    UnknownWord::among(found, Checked::VARIANTS)
}

impl Default for TpccSettings {
    fn default() -> Self {
        Self { warehouses: 1, scale: 1.0, keying: false, pace: Pace::default(), checked: Checked::default() }
    }
}

impl TpccSettings {
    pub fn sizes(&self) -> Sizes {
        Sizes::new(self.warehouses, self.scale)
    }
}
