//! Texts to values: each says what was expected.

use std::fmt::Display;
use std::str::FromStr;

/// Accepts one of a few words.
pub fn one_of(value: &str, words: &[&str]) -> Result<String, String> {
    if words.contains(&value) {
        return Ok(value.to_owned());
    }
    let hint =
        tare_text::nearest(value, words.iter().copied()).map_or(String::new(), |w| format!(" (did you mean {w}?)"));
    Err(format!("one of {}{hint}", words.join(", ")))
}

/// `on` or `off`.
/// on or off.
pub fn switch(value: &str) -> Result<bool, String> {
    one_of(value, &["on", "off"]).map(|v| v == "on")
}

/// The text of a switch.
pub fn on_off(on: bool) -> Option<String> {
    Some(if on { "on" } else { "off" }.into())
}

/// A whole number in a range.
pub fn whole<T>(value: &str, min: T, max: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display + Copy,
{
    let expected = || format!("a whole number from {min} to {max}");
    let number: T = value.parse().map_err(|_| expected())?;
    if number < min || number > max { Err(expected()) } else { Ok(number) }
}

/// A positive, finite number of `what`.
pub fn positive(value: &str, what: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err(format!("a number of {what} above 0")),
    }
}

/// Seconds, at least 0, a day at most.
pub fn seconds(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(n) if (0.0..=86_400.0).contains(&n) => Ok(n),
        _ => Err("a number of seconds from 0 to 86400, without a unit".into()),
    }
}

/// Whatever has a text form.
pub fn parsed<T>(value: &str) -> Result<T, String>
where
    T: FromStr,
    T::Err: Display,
{
    value.parse().map_err(|e: T::Err| e.to_string())
}
