//! One value of a table, and what a column of such values is.

use std::borrow::Cow;

/// A value of a row. What was not measured or does not apply is nothing, never zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    Text(Cow<'a, str>),
    /// A count, a number of something, an id.
    Whole(i64),
    /// A measured value, in the unit that its column or its row says.
    Number(f64),
    Flag(bool),
    /// Not measured, or of no meaning here.
    Nothing,
}

impl<'a> Cell<'a> {
    /// A text; nothing when it is empty.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }

    /// A count of any size; nothing beyond what 63 bits hold.
    pub fn whole(count: impl TryInto<i64>) -> Self {
        count.try_into().map_or(Self::Nothing, Self::Whole)
    }

    /// A number; nothing when there is none or it is not finite.
    pub fn number(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Nothing, Self::Number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64-bit signed.
    Whole,
    /// 64-bit binary floating point.
    Number,
    /// `true` or `false`.
    Flag,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Unique in its table; a unit stands last.
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub help: &'static str,
}
