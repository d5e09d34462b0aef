//! Formats levels as text.

use tare_results::schema::Levels;

/// Levels as in a condition's name: `factor=level` words.
pub fn words_of(levels: &Levels) -> String {
    levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(" ")
}
