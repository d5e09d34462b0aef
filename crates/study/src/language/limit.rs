//! The share of the time from which an interference counts.

use std::fmt;

/// The share of the time above which a sample counts as disturbed; none: never.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit(pub Option<f64>);

impl Limit {
    /// The value and the limit, if the value is above the limit.
    pub fn exceeded(self, value: Option<&f64>) -> Option<(f64, f64)> {
        let (value, limit) = (*value?, self.0?);
        (value > limit).then_some((value, limit))
    }
}

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<f64>()) {
            ("off", _) => Ok(Self(None)),
            (_, Ok(limit)) if (0.0..1.0).contains(&limit) => Ok(Self(Some(limit))),
            _ => Err("a fraction from 0 to 1, such as 0.05, or off".into()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{limit}"),
            None => f.write_str("off"),
        }
    }
}
