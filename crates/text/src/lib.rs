//! Formats and parses text: figures, safe output of foreign text, suggestions for misspelt names, and settings by key.
//!
//! - [`percent`], [`decimal`], [`count`], [`list`], [`duration`]: figures as text; [`percentage`], [`fraction`]: back.
//! - [`shown()`], [`shown_name`], [`shown_json`], [`as_text_cell`]: foreign text for terminals, logs and spreadsheets.
//! - [`UnknownWord`], [`nearest()`]: errors about unknown names, with a suggestion.
//! - [`Key`], [`Value`]: settings that are declared once and set by name.
//! - [`object!`]: an object for JSON.

mod figures;
mod key;
mod names;
mod nearest;
mod object;
mod shown;
mod value;

pub use figures::{
    TOO_LONG, count, decimal, duration, duration_at_most, fraction, is_zero, list, percent, percentage, quoted,
    small_percent, unsigned_zero, was,
};

pub use key::{Key, KeyInfo, Keyed, Keys, Kind};
pub use names::{apart, ending};
pub use nearest::{UnknownWord, did_you_mean, nearest, nearest_of};
pub use shown::{as_text_cell, of_text_cell, shown, shown_json, shown_name};
pub use value::Value;
