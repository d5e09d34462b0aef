//! Errors of unusable input.

/// Input from which a figure cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// Too few observations for the requested figure.
    #[error("{what}: at least {needed} needed, got {got}")]
    TooFew { what: String, needed: usize, got: usize },
    /// A value that must be positive and finite is not.
    #[error("{what}: positive finite values expected, got {value}")]
    NotPositive { what: String, value: f64 },
    /// A value that must be finite is not, or the result would overflow.
    #[error("{what}: finite values expected")]
    NotFinite { what: String },
    /// Two parts of the input that must have the same size differ.
    #[error("{what}: {expected} expected, got {got}")]
    Mismatch { what: String, expected: usize, got: usize },
    /// A parameter outside its range.
    #[error("{what}: {expected} expected, got {got}")]
    OutOfRange { what: String, expected: String, got: f64 },
}

/// Checks that all values are finite; the error names them.
pub(crate) fn all_finite(what: &str, values: &[f64]) -> Result<(), Error> {
    if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what: what.into() }) }
}

/// Checks that all values are positive and finite; the error holds the first that is not.
pub(crate) fn all_positive(what: &str, values: &[f64]) -> Result<(), Error> {
    match values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
        Some(&value) => Err(Error::NotPositive { what: what.into(), value }),
        None => Ok(()),
    }
}

/// Checks that a confidence level is strictly between 0 and 1.
pub(crate) fn valid_confidence(confidence: f64) -> Result<(), Error> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(())
    } else {
        Err(Error::OutOfRange { what: "confidence".into(), expected: "a fraction in (0, 1)".into(), got: confidence })
    }
}
