//! A value of a table, and the type of a column.

use std::borrow::Cow;

/// A value of a row. Values that were not measured or do not apply are empty, never zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    Text(Cow<'a, str>),
    /// A count or an identifier.
    Whole(i64),
    /// A measured value, in the unit given by its column or its row.
    Number(f64),
    Flag(bool),
    /// Not measured, or not applicable.
    Nothing,
}

impl<'a> Cell<'a> {
    /// A text; empty texts become `Nothing`.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }

    /// A count; `Nothing` if it does not fit into 63 bits.
    pub(crate) fn whole(count: impl TryInto<i64>) -> Self {
        count.try_into().map_or(Self::Nothing, Self::Whole)
    }

    /// A number; `Nothing` if it is absent or not finite.
    pub(crate) fn number(value: Option<f64>) -> Self {
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
    /// Unique in its table; ends with the unit, if there is one.
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub help: &'static str,
}
