//! All rules asked, and what is known already told apart.

use crate::{Finding, Tree, map::Known, rules::Rule};

/// What the rules found, each finding with the name of its rule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// To be repaired now.
    pub new: Vec<(&'static str, Finding)>,
    /// In the list of what is known.
    pub known: Vec<(&'static str, Finding)>,
}

/// Asks every rule, and finds what is listed as known and is not there.
pub fn judge(tree: &Tree, rules: &[(&'static str, Rule)], list: &[Known]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut needed = vec![false; list.len()];
    for (rule, check) in rules {
        let mut found = check(tree);
        found.sort();
        for finding in found {
            match list.iter().position(|known| known.rule == *rule && is_below(&finding.path, known.below)) {
                Some(known) => {
                    needed[known] = true;
                    verdict.known.push((*rule, finding));
                }
                None => verdict.new.push((*rule, finding)),
            }
        }
    }
    for (known, _) in list.iter().zip(needed).filter(|(_, needed)| !needed) {
        let message = format!("{} is mended (until: {}): take it out of KNOWN in the map", known.rule, known.until);
        verdict.new.push(("known", Finding::new(known.below, 1, message)));
    }
    verdict
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_fails_nothing_and_must_be_there() {
        let rule: Rule = |tree| tree.files.iter().map(|file| Finding::new(&file.path, 1, "bad")).collect();
        let tree = Tree::of(&[("a/b", ""), ("ab", "")]);
        let known = |rule, below| Known { rule, below, until: "then" };
        let verdict = judge(&tree, &[("r", rule)], &[known("r", "a"), known("other", "ab"), known("r", "c")]);
        assert_eq!(verdict.known, [("r", Finding::new("a/b", 1, "bad"))]);
        let new: Vec<_> = verdict.new.iter().map(|(rule, finding)| (*rule, finding.path.as_str())).collect();
        assert_eq!(new, [("r", "ab"), ("known", "ab"), ("known", "c")]);
    }
}
