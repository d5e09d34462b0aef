//! What an engine calls an error.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// MariaDB's and MySQL's error number, SQLite's extended result code.
    Number(u32),
    State(SqlState),
}

/// Five digits and capital letters, of which the first two are the class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The state that these bytes are, none where they are not one.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        bytes.try_into().ok().filter(|_| is_one).map(Self)
    }

    /// Five ASCII characters, as the server sent them.
    pub fn as_str(&self) -> &str {
        // Always ASCII, by construction.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The two characters that related states share.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl Code {
    pub fn is_state(self, state: &str) -> bool {
        matches!(self, Self::State(found) if found.as_str() == state)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The code alone: digits and capital letters, so that it can be part of a metric's name.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::State(state) => f.write_str(state.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_number_or_five_characters_and_can_be_part_of_a_name() {
        let state = SqlState::new(b"40P01").unwrap();
        assert_eq!((state.class(), Code::State(state).to_string().as_str()), ("40", "40P01"));
        assert!(Code::State(state).is_state("40P01") && !Code::State(state).is_state("40001"));
        assert_eq!(Code::Number(1062).to_string(), "1062");
        assert!(!Code::Number(40001).is_state("40001"));
        for none in [&b""[..], b"4000", b"400011", b"4000a", b"40 01", b"40\xff01", b"40_01"] {
            assert_eq!(SqlState::new(none), None, "{none:?}");
        }
    }
}
