//! Words that are hard to read or were left by mistake.

use crate::{Finding, Tree};

/// The words, and what to write instead. Split with `concat!`, so that this file does not contain them.
const STUMBLES: &[(&str, &str)] = &[
    (concat!("how", "-manieth"), "say \"its number, counted from 0\" or the like"),
    (concat!("the", " the "), "one \"the\""),
    (concat!("TO", "DO"), "do it, or open an issue"),
    (concat!("FIX", "ME"), "fix it, or open an issue"),
];

/// Finds those words in source and text.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in
        tree.files.iter().filter(|file| file.is_rust() || file.path.ends_with(".md") || file.path.ends_with(".toml"))
    {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (words, instead) in STUMBLES.iter().filter(|(words, _)| holds(line, words)) {
                found.push(Finding::new(&file.path, number, format!("{words:?}: {instead}")));
            }
        }
    }
    found
}

/// Whether the words occur there, and not as the end of a longer word.
fn holds(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_reader_stumbles_over_are_found() {
        let text = format!("fine\nin {}sea\nbathe the sea\n", STUMBLES[1].0);
        let word = format!("// the {} of them\n", STUMBLES[0].0);
        let tree = Tree::of(&[("a.md", &text), ("b.rs", &word), ("c.sh", &word)]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("a.md".to_string(), 2), ("b.rs".to_string(), 1)]);
    }
}
