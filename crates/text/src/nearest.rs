//! The nearest right name, for messages about wrong ones.

/// Names longer than this are compared by their beginning: both measures take time that grows with the square.
const COMPARED_CHARS: usize = 64;

/// From this likeness on (Jaro-Winkler, 1 is equal) a name is meant that was cut short or written in other words.
const ALIKE: f64 = 0.85;

/// So many letters from the start say which word was meant, however long it is.
const CUT_SHORT_CHARS: usize = 3;

/// The candidate that was most likely meant, when one is like enough: it is at most one typing error in three letters
/// away, or much of it is there from the start. Small and capital letters count alike.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = comparable(wrong);
    if wrong.is_empty() {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| Some((likeness(&wrong, &comparable(candidate))?, candidate)))
        // Of equals the first wins, so that the order of the candidates may carry a preference.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}

/// So many candidates that are at all alike, the most alike first.
pub fn nearest_of<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    /// Half of the letters in nearly the same places.
    const AT_ALL: f64 = 0.55;
    let wrong = comparable(wrong);
    let alike = candidates.into_iter().map(|name| (strsim::jaro_winkler(&wrong, &comparable(name)), name));
    let mut alike: Vec<(f64, &str)> = alike.filter(|(alike, _)| *alike >= AT_ALL).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The first words of a long name stand before names a typing error away (`10.11` is 10.11.19, not 10.2.11), these
/// before names that only begin alike. None when a candidate is none of it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_seen_through() {
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
    fn the_first_words_of_a_name_are_no_slip_of_another_one() {
        let builds = ["binary=10.2.11", "binary=10.11.19"];
        assert_eq!(nearest("binary=10.11", builds), Some("binary=10.11.19"));
        assert_eq!(nearest("binary=10.2.1", builds), Some("binary=10.2.11"));
    }

    #[test]
    fn of_many_names_the_nearest_are_said() {
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
}
