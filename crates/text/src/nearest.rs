//! The error for an unknown word: what was found, which words are known, and the most similar one.

use std::fmt;
use strum::VariantNames;

/// Characters that are compared at most: the time of both measures grows with the square of the length.
const COMPARED_CHARS: usize = 64;

/// Least Jaro-Winkler similarity (1 is equal) of a name that was abbreviated or worded differently.
const ALIKE: f64 = 0.85;

/// Least length of a prefix that identifies a longer word.
const CUT_SHORT_CHARS: usize = 3;

/// The most similar candidate, if one is similar enough: it differs by at most one typing error per three letters, or
/// the wrong name is its beginning, or both are alike (Jaro-Winkler). Case is ignored.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = comparable(wrong);
    if wrong.is_empty() {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| Some((likeness(&wrong, &comparable(candidate))?, candidate)))
        // Of equally similar candidates the first wins, so that their order can express a preference.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}

/// At most `most` candidates that are somewhat similar, the most similar first.
pub fn nearest_of<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    /// Least Jaro-Winkler similarity: about half of the letters in nearly the same places.
    const AT_ALL: f64 = 0.55;
    let wrong = comparable(wrong);
    let alike = candidates.into_iter().map(|name| (strsim::jaro_winkler(&wrong, &comparable(name)), name));
    let mut alike: Vec<(f64, &str)> = alike.filter(|(alike, _)| *alike >= AT_ALL).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Ranks a candidate: the first words of a longer name rank above a typing error (`10.11` is 10.11.19, not 10.2.11),
/// and a typing error ranks above a common beginning. `None` if the candidate is not similar.
fn likeness(wrong: &str, candidate: &str) -> Option<f64> {
    let errors = strsim::osa_distance(wrong, candidate);
    let letters = wrong.chars().count().max(candidate.chars().count());
    let alike = strsim::jaro_winkler(wrong, candidate);
    let rest = candidate.strip_prefix(wrong).and_then(|rest| rest.chars().next());
    if wrong.chars().count() >= CUT_SHORT_CHARS && rest.is_some_and(|next| !next.is_alphanumeric()) {
        return Some(3.0 + alike);
    }
    if 3 * errors <= letters {
        Some(2.0 + alike - errors as f64 / letters as f64)
    } else {
        let cut_short = wrong.chars().count() >= CUT_SHORT_CHARS && candidate.starts_with(wrong);
        (cut_short || alike >= ALIKE).then_some(alike)
    }
}

fn comparable(name: &str) -> String {
    name.chars().take(COMPARED_CHARS).flat_map(char::to_lowercase).collect()
}

/// A word that is not among the expected ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word that was written.
    pub found: String,
    /// The known words, in the order in which the message lists them.
    pub known: &'static [&'static str],
    /// The most similar known word, if one is similar enough.
    pub nearest: Option<&'static str>,
}

impl UnknownWord {
    /// Builds the error and looks for the most similar known word.
    pub fn among(found: &str, known: &'static [&'static str]) -> Self {
        Self { found: found.to_owned(), known, nearest: nearest(found, known.iter().copied()) }
    }

    /// As [`Self::among`], with the words of an enum, for strum: `parse_err_fn = UnknownWord::of::<Self>`.
    pub fn of<T: VariantNames>(found: &str) -> Self {
        Self::among(found, T::VARIANTS)
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of {}, found {:?}{}", self.known.join(", "), self.found, did_you_mean(self.nearest))
    }
}

impl std::error::Error for UnknownWord {}

/// The end of a message: `; did you mean "node"?`, or the empty string.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean {word:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_intended_word() {
        let words = ["none", "same-pu", "smt-sibling", "same-core", "same-cache", "same-node", "other-node"];
        for (wrong, right) in [
            ("same-cpu", Some("same-pu")),
            ("same_core", Some("same-core")),
            ("SMT-SIBLING", Some("smt-sibling")),
            ("smt", Some("smt-sibling")),
            ("othernode", Some("other-node")),
            ("non", Some("none")),
            ("", None),
            ("x", None),
            ("everywhere", None),
        ] {
            assert_eq!(nearest(wrong, words), right, "{wrong:?}");
        }
    }

    #[test]
    fn a_prefix_of_a_name_finds_that_name_and_not_a_similar_one() {
        let builds = ["binary=10.2.11", "binary=10.11.19"];
        assert_eq!(nearest("binary=10.11", builds), Some("binary=10.11.19"));
        assert_eq!(nearest("binary=10.2.1", builds), Some("binary=10.2.11"));
    }

    #[test]
    fn the_nearest_of_many_names_are_suggested() {
        let many =
            ["trials", "samples", "warmup_s", "sample_s", "drop_samples", "pause_s", "seed", "attempts", "probe"];
        assert_eq!(nearest_of("sample", many, 3), ["samples", "sample_s", "drop_samples"]);
        assert_eq!(nearest_of("zzz", many, 3), [""; 0]);
    }

    #[test]
    fn short_words_are_not_taken_for_each_other() {
        assert_eq!(nearest("abc", ["all", "odd", "even"]), None);
        assert_eq!(nearest("on", ["off"]), None);
        assert_eq!(nearest("of", ["on", "off"]), Some("off"));
        assert_eq!(nearest("alll", ["all", "odd", "even"]), Some("all"));
    }

    #[test]
    fn a_name_cut_short_is_completed() {
        assert_eq!(nearest("warmup", ["threads", "warmup_s", "sample_s"]), Some("warmup_s"));
        assert_eq!(nearest("zipf", ["uniform", "zipfian", "special"]), Some("zipfian"));
    }

    #[test]
    fn a_very_long_name_costs_no_more() {
        let long = "n".repeat(1 << 20);
        assert_eq!(nearest(&long, ["node", "core"]), None);
    }

    #[test]
    fn the_message_names_all_and_the_nearest() {
        let known = &["set", "thread"];
        assert_eq!(
            UnknownWord::among("threads", known).to_string(),
            "expected one of set, thread, found \"threads\"; did you mean \"thread\"?"
        );
        assert_eq!(UnknownWord::among("7", known).to_string(), "expected one of set, thread, found \"7\"");
    }
}
