//! Levels as words.

use tare_results::schema::Levels;

/// Levels as they are written in a condition's name: `factor=level` words.
pub fn words_of(levels: &Levels) -> String {
    levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(" ")
}
