//! The scale factor, which sets the size of the tables.

use std::fmt;
use std::str::FromStr;
use tpchgen::generators::PartSuppGeneratorIterator;

/// Order keys are 32-bit numbers, as in DBT-3, and reach six million at scale 1.
const LARGEST: f64 = 300.0;
/// Rows of supplier and part at scale 1 (TPC-H specification 4.2.5).
const SUPPLIERS: f64 = 10_000.0;
const PARTS: f64 = 200_000.0;
const SUPPLIERS_PER_PART: i64 = 4;

/// A scale factor: 1 is about a gigabyte of text, six million rows of lineitem.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Scale(f64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScaleError(String);

impl Scale {
    /// # Errors
    /// The scale is outside 0 to 300, or the generator's formula assigns the same supplier twice to a part, which the
    /// primary key of partsupp forbids: below 0.008, and at a few more scales below 0.025.
    pub(crate) fn new(scale: f64) -> Result<Self, ScaleError> {
        if !(scale > 0.0 && scale <= LARGEST) {
            return Err(ScaleError(format!("a scale factor above 0, at most {LARGEST}")));
        }
        if !suppliers_differ(scale) {
            let nearest = (1..=LARGEST as i64 * 1000)
                .map(|thousandths| thousandths as f64 / 1000.0)
                .find(|candidate| *candidate > scale && suppliers_differ(*candidate));
            let advice = nearest.map_or(String::new(), |n| format!("; the next one that works is {n}"));
            return Err(ScaleError(format!(
                "another scale factor: at this one TPC-H's formula gives a part the same supplier twice{advice}"
            )));
        }
        Ok(Self(scale))
    }

    pub(crate) fn factor(self) -> f64 {
        self.0
    }
}

/// Whether the suppliers of every part are distinct. The formula depends on the part only through (part - 1) /
/// suppliers, so checking one part for each value is sufficient.
fn suppliers_differ(scale: f64) -> bool {
    let suppliers = (SUPPLIERS * scale) as i64;
    let parts = (PARTS * scale) as i64;
    if suppliers < SUPPLIERS_PER_PART {
        return false;
    }
    (1..=parts).step_by(suppliers as usize).all(|part| {
        let mut chosen: Vec<i64> =
            (0..SUPPLIERS_PER_PART).map(|i| PartSuppGeneratorIterator::select_part_supplier(part, i, scale)).collect();
        chosen.sort_unstable();
        chosen.windows(2).all(|pair| pair[0] != pair[1])
    })
}

impl Default for Scale {
    fn default() -> Self {
        Self(1.0)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let expected = || ScaleError(format!("a scale factor above 0, at most {LARGEST}"));
        Self::new(text.parse().map_err(|_| expected())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_scales_are_accepted_and_others_refused_with_the_reason() {
        for scale in ["0.008", "0.01", "0.1", "0.5", "1", "3.3", "10", "300"] {
            assert_eq!(scale.parse::<Scale>().unwrap().to_string(), scale);
        }
        for scale in ["0", "-1", "nan", "inf", "301", "one"] {
            let error = scale.parse::<Scale>().unwrap_err().to_string();
            assert!(error.contains("above 0"), "{scale}: {error}");
        }
        let error = "0.001".parse::<Scale>().unwrap_err().to_string();
        assert!(error.contains("supplier twice") && error.contains("0.008"), "{error}");
        // 120 suppliers: three steps of 40 return to the first.
        assert!("0.012".parse::<Scale>().is_err());
    }
}
