//! Limits on the length of lines and files. Clippy limits functions.

use crate::{Finding, Tree};

/// As in rustfmt.toml, which does not apply to comments.
const COLUMNS_MAX: usize = 120;
/// The limit for lines that rustfmt leaves alone: templates and long texts are easier to read on one line.
const COLUMNS_MAX_CODE: usize = 200;
/// Limit on the lines of a file with code; tests may be longer.
const LINES_MAX: usize = 500;

/// Finds lines and files that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_rust() || file.path.ends_with(".toml")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let columns = line.chars().count();
            let comment =
                line.trim_start().starts_with(if file.is_rust() { "//" } else { "#" }) && !line.contains("//! |");
            let max = if comment { COLUMNS_MAX } else { COLUMNS_MAX_CODE };
            if columns > max {
                found.push(Finding::new(&file.path, number, format!("{columns} columns; at most {max}")));
            }
        }
    }
    for file in tree.rust().filter(|file| !file.is_test()) {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            let message = format!("{lines} lines; at most {LINES_MAX}: move a part of it into a file of its own");
            found.push(Finding::new(&file.path, 1, message));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn a_long_line_and_a_long_file_are_found() {
        let long = format!("//! Says.\n// {}\n", "ü".repeat(118));
        let fits = format!("//! Says.\n// {}\n", "ü".repeat(117));
        let text = format!("//! Says.\nlet text = \"{}\";\n", "x".repeat(200));
        let many = "\n".repeat(501);
        let tree = Tree::of(&[
            ("a.rs", &long),
            ("b.rs", &fits),
            ("c.rs", &many),
            ("c/tests/d.rs", &many),
            ("e.md", &long),
            ("f.rs", &text),
        ]);
        assert_eq!(places(&check(&tree)), ["a.rs:2", "f.rs:2", "c.rs:1"]);
    }
}
