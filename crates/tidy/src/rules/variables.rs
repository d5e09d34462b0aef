//! Environment variables that change the program's behaviour are part of its interface: the reference lists them.

use crate::{Finding, Tree};

/// The page that documents them.
const PAGE: &str = "docs/reference.md";
/// Prefix of the names of this project's variables.
const PREFIX: &str = "\"TARE_";

/// Finds variables that a source file names and the reference does not document.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.get(PAGE).map_or("", |page| page.text.as_str());
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.path.contains("/src/") && !file.path.starts_with("crates/tidy/")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (at, _) in line.match_indices(PREFIX) {
                let name: String = line[at + 1..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
                if !page.contains(&format!("`{name}`")) {
                    found.push(Finding::new(&file.path, number, format!("{PAGE} does not explain {name}")));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_the_reference_does_not_explain_is_found() {
        let tree = Tree::of(&[
            ("docs/reference.md", "`TARE_A`"),
            ("x/src/a.rs", "var(\"TARE_A\");\nvar(\"TARE_B\");"),
            ("x/tests/a.rs", "var(\"TARE_C\")"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2]);
    }
}
