//! No comment line is repeated.

use crate::{Finding, Tree};

/// Finds comment lines that are equal to the line above.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let marks: &[&str] = match file.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("rs") => &["//"],
            Some("md") => continue,
            _ => &["# "],
        };
        let mut before = "";
        for (number, line) in (1..).zip(file.text.lines().map(str::trim)) {
            let is_comment = marks.iter().any(|mark| line.starts_with(mark)) && line.contains(char::is_alphanumeric);
            if is_comment && line == before {
                found.push(Finding::new(&file.path, number, "the line above says the same"));
            }
            before = line;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn a_comment_that_stands_twice_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "/// One.\n    /// One.\nfn f() {}\n// -\n// -\n// Two.\nlet x;\n// Two.\n"),
            ("b.toml", "# One.\n# One.\n"),
            ("c.md", "# One.\n# One.\n"),
        ]);
        assert_eq!(places(&check(&tree)), ["a.rs:2", "b.toml:2"]);
    }
}
