//! A single value of a study or of the command line, and its conversion to the type of a key.

use crate::nearest;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A switch, a number or a text. Its type is determined once, when it is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`; printed as `on` and `off`, which are also accepted as texts.
    Switch(bool),
    /// A number without a fraction.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// Everything else.
    Text(String),
}

impl Value {
    /// A word of the command line: a number if it is written as one, else text.
    pub fn of_word(word: &str) -> Self {
        // A number only if it prints identically: 007 and 1e3 may be names of levels, which must not change.
        match (word.parse::<i64>(), word.parse::<f64>()) {
            (Ok(whole), _) if whole.to_string() == word => Self::Whole(whole),
            (_, Ok(number)) if number.is_finite() && number.to_string() == word => Self::Number(number),
            _ => Self::Text(word.to_owned()),
        }
    }

    /// The value as one of the given words.
    ///
    /// # Errors
    /// The list of words, with the most similar one.
    pub fn one_of<'w>(&self, words: &[&'w str]) -> Result<&'w str, String> {
        let written = self.to_string();
        words.iter().find(|word| **word == written).copied().ok_or_else(|| {
            let hint = nearest(&written, words.iter().copied())
                .map_or(String::new(), |word| format!(" (did you mean {word}?)"));
            format!("one of {}{hint}", words.join(", "))
        })
    }

    /// A switch, also if written as one of the words `on` and `off`.
    ///
    /// # Errors
    /// The two words.
    pub fn switch(&self) -> Result<bool, String> {
        match self {
            Self::Switch(on) => Ok(*on),
            other => other.one_of(&["on", "off"]).map(|word| word == "on"),
        }
    }

    /// A whole number within a range.
    ///
    /// # Errors
    /// The range.
    pub fn whole<T>(&self, min: T, max: T) -> Result<T, String>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let number = self.to_string().parse::<T>().ok().filter(|number| *number >= min && *number <= max);
        number.ok_or_else(|| format!("a whole number from {min} to {max}"))
    }

    /// Any number, also one written as text.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Switch(_) => None,
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
        }
    }

    /// A positive, finite number of `what`.
    ///
    /// # Errors
    /// A text that it must be above 0.
    pub fn positive(&self, what: &str) -> Result<f64, String> {
        let number = self.number().filter(|number| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| format!("a number of {what} above 0"))
    }

    /// Seconds, from 0 to one day.
    ///
    /// # Errors
    /// The range.
    pub fn seconds(&self) -> Result<f64, String> {
        let number = self.number().filter(|number| (0.0..=86_400.0).contains(number));
        number.ok_or_else(|| "a number of seconds from 0 to 86400, without a unit".into())
    }

    /// Parses the text form of the value.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn parsed<T>(&self) -> Result<T, String>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.to_string().parse().map_err(|e: T::Err| e.to_string())
    }
}

/// As in a study, but without quotes; switches as `on` and `off`.
impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Switch(on)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Text(number.to_string()), Self::Whole)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Text(number.to_string()), Self::Whole)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_letters_whatever_it_becomes() {
        for word in ["1", "-3", "0.5", "007", "1e3", "on", "layout:7", "", "nan", "99999999999999999999"] {
            assert_eq!(Value::of_word(word).to_string(), word);
        }
        assert_eq!(Value::of_word("12"), Value::Whole(12));
        assert_eq!(Value::of_word("0.25"), Value::Number(0.25));
        assert_eq!(Value::of_word("007"), Value::Text("007".into()));
    }

    #[test]
    fn a_switch_is_true_false_or_its_words() {
        assert_eq!(Value::Switch(true).switch(), Ok(true));
        assert_eq!(Value::from("off").switch(), Ok(false));
        assert_eq!(Value::from("onn").switch(), Err("one of on, off (did you mean on?)".into()));
        assert_eq!(Value::Switch(true).one_of(&["on", "off", "as-found"]), Ok("on"));
    }

    #[test]
    fn numbers_are_held_to_their_range() {
        assert_eq!(Value::Whole(5).whole(1_usize, 9), Ok(5));
        assert_eq!(Value::Whole(-1).whole(1_u64, 9), Err("a whole number from 1 to 9".into()));
        assert_eq!(Value::Number(1.5).whole(1_u64, 9), Err("a whole number from 1 to 9".into()));
        assert_eq!(Value::from("2.5").seconds(), Ok(2.5));
        assert!(Value::Number(f64::INFINITY).seconds().is_err() && Value::Whole(0).positive("seconds").is_err());
    }

    #[test]
    fn values_are_stored_as_plain_json() {
        let values = [Value::Switch(true), Value::Whole(3), Value::Number(0.5), Value::from("x")];
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, "[true,3,0.5,\"x\"]");
        assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap(), values);
    }
}
