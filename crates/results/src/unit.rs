//! The units of metrics and covariates.

use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    PerS,
    PerMin,
    S,
    Ms,
    Us,
    Ns,
    Bytes,
    Pages,
    /// A share, mostly from 0 to 1.
    Fraction,
    /// A count, a score, or a unit that is not known.
    #[default]
    Plain,
}

impl Unit {
    /// The unit as exports and JSON have it; empty if there is none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerS => "1/s",
            Self::PerMin => "1/min",
            Self::S => "s",
            Self::Ms => "ms",
            Self::Us => "us",
            Self::Ns => "ns",
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Fraction => "fraction",
            Self::Plain => "",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}
