//! The term of an effect: a factor, a level of one, or a combination.

use crate::ends;
use serde::{Serialize, Serializer};
use std::fmt;
use tare_stats::Interval;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermFactor {
    /// The factor; several if they always change together (confounded).
    pub factors: Vec<String>,
    /// The level that is compared with the first one, if the factor has more than two.
    pub level: Option<String>,
}

impl TermFactor {
    /// The factors' names joined by `+`.
    pub fn factor(&self) -> String {
        self.factors.join("+")
    }
}

impl fmt::Display for TermFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.factor())?;
        self.level.as_ref().map_or(Ok(()), |level| write!(f, "={level}"))
    }
}

/// A main effect (one factor) or an interaction (several). It is formatted as text only for output: `aslr`, `aslr:ahi`,
/// `allocator=jemalloc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term(pub Vec<TermFactor>);

impl Term {
    /// The factor of a main effect; none for an interaction.
    pub fn main(&self) -> Option<&TermFactor> {
        match self.0.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, factor) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(":")?;
            }
            write!(f, "{factor}")?;
        }
        Ok(())
    }
}

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The second of two conditions or levels compared with the first, in the order of the study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Second {
    /// The one that the study names first, such as the older build.
    pub from: String,
    pub to: String,
    /// Mean at the second over that at the first.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

/// The ratio of two means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extremes {
    pub ratio: f64,
    /// 95% interval of the ratio, simultaneous for all pairs.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_with_a_colon_does_not_become_an_interaction() {
        let one = |factor: &str, level: Option<&str>| TermFactor {
            factors: vec![factor.into()],
            level: level.map(str::to_owned),
        };
        let main = Term(vec![one("client", Some("node:0.core:1"))]);
        assert_eq!(main.to_string(), "client=node:0.core:1");
        assert_eq!(main.main().map(TermFactor::factor).as_deref(), Some("client"));
        let both = Term(vec![one("aslr", None), one("ahi", None)]);
        assert_eq!((both.to_string().as_str(), both.main()), ("aslr:ahi", None));
    }
}
