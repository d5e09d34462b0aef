//! Shared between everything that is written as a word or a string.

/// A word that is none of those expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}{}", hint(nearest.as_deref()))]
pub struct UnknownWord {
    /// What was written.
    pub found: String,
    /// What may be written, for people.
    pub expected: String,
    /// The likeliest intended word, when one is near enough.
    pub nearest: Option<String>,
}

/// The value a word stands for, in a table of words.
pub(crate) fn lookup<T: Copy>(found: &str, words: &[(&str, T)]) -> Result<T, UnknownWord> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
        return Ok(*value);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(UnknownWord {
        found: found.to_owned(),
        expected: format!("one of {}", names.join(", ")),
        nearest: nearest(found, &names),
    })
}

/// The word of a table that stands for a value.
pub(crate) fn word_of<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|(_, v)| v == value).map_or("", |(word, _)| word)
}

/// The candidate nearest to what was written: at most two edits away, and fewer edits than it has letters.
pub(crate) fn nearest(found: &str, candidates: &[&str]) -> Option<String> {
    // Longer words cannot be near any candidate, and the distance is quadratic in the length.
    if found.is_empty() || found.len() > 32 {
        return None;
    }
    let found = found.to_ascii_lowercase();
    let edits = |word: &str| strsim::damerau_levenshtein(&found, word);
    let best = candidates.iter().min_by_key(|word| edits(word))?;
    (edits(best) <= 2 && edits(best) < best.len()).then(|| (*best).to_owned())
}

pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean {word:?}?"))
}

/// "1 core", "2 cores", "no cores".
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    match n {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{n} {many}"),
    }
}

/// Serde as the string of Display and FromStr.
macro_rules! serde_as_string {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_string;
