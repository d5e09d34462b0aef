//! What can be wrong with the input.

/// Input that no figure can be computed from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// Not enough observations for the figure asked for.
    #[error("{what}: at least {needed} needed, got {got}")]
    TooFew { what: String, needed: usize, got: usize },
    /// A value that must be a positive finite number is not.
    #[error("{what}: positive finite values expected, got {value}")]
    NotPositive { what: String, value: f64 },
    /// A value that must be finite is not, or the result would overflow.
    #[error("{what}: finite values expected")]
    NotFinite { what: String },
    /// Two parts of the input that must have the same shape do not.
    #[error("{what}: {expected} expected, got {got}")]
    Mismatch { what: String, expected: usize, got: usize },
    /// A parameter outside its range.
    #[error("{what}: {expected} expected, got {got}")]
    OutOfRange { what: String, expected: String, got: f64 },
}

/// All values finite, or the error that names them.
pub(crate) fn all_finite(what: &str, values: &[f64]) -> Result<(), Error> {
    if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what: what.into() }) }
}

/// All values positive and finite, or the error that names the first that is not.
pub(crate) fn all_positive(what: &str, values: &[f64]) -> Result<(), Error> {
    match values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
        Some(&value) => Err(Error::NotPositive { what: what.into(), value }),
        None => Ok(()),
    }
}

/// A confidence level strictly between 0 and 1.
pub(crate) fn valid_confidence(confidence: f64) -> Result<(), Error> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(())
    } else {
        Err(Error::OutOfRange { what: "confidence".into(), expected: "a fraction in (0, 1)".into(), got: confidence })
    }
}
