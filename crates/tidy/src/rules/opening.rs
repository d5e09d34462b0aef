//! Every Rust file begins with a line that describes its contents.

use crate::{Finding, Tree};

/// An opening line with fewer words says nothing.
const WORDS_MIN: usize = 3;

/// Finds files whose first line is not a `//!` line, or one that says nothing.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| {
            let first = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
            first.is_none_or(|words| words.split_whitespace().count() < WORDS_MIN)
        })
        .map(|file| Finding::new(&file.path, 1, "open the file with a line `//! ...` that says what it holds"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_opening_line_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! Adds two and two.\nfn f() {}"),
            ("b.rs", "fn f() {}"),
            ("c.rs", "\n//! Adds two and two."),
            ("d.rs", "//! Types."),
            ("e.md", "text"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["b.rs", "c.rs", "d.rs"]);
    }
}
