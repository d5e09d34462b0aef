//! Every safety claim names tests that exist: they are in the tables of the docs whose last column is `tests`, and
//! every file with `unsafe` has a row in one of them.

use crate::{Finding, Tree};
use proc_macro2::{TokenStream, TokenTree};

/// The page with the argument and the tests for every `unsafe`.
pub(super) const PAGE: &str = "docs/unsafe.md";

/// Finds rows without an existing test, and files whose number of `unsafe` differs from their row.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for page in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, cells) in rows(&page.text) {
            let named = words(cells.last().copied().unwrap_or_default());
            if named.is_empty() {
                found.push(Finding::new(&page.path, line, "this row names no test"));
            }
            for name in named.into_iter().filter(|name| !is_test(tree, name)) {
                found.push(Finding::new(&page.path, line, format!("there is no test {name}")));
            }
        }
    }
    found.extend(uses(tree));
    found
}

/// Compares the files with `unsafe` and their table, in both directions.
fn uses(tree: &Tree) -> Vec<Finding> {
    let page = tree.get(PAGE).map_or("", |page| page.text.as_str());
    let mut rows: Vec<(usize, &str, usize)> = Vec::new();
    for (line, cells) in rows_of(page) {
        rows.push((line, cells[0].trim_matches('`'), cells.get(1).and_then(|n| n.parse().ok()).unwrap_or(0)));
    }
    let mut found = Vec::new();
    for file in tree.rust() {
        let count = file.text.parse().map_or(0, count);
        let stated = rows.iter().find(|row| row.1 == file.path).map_or(0, |row| row.2);
        if count != stated {
            let message = format!(
                "`unsafe` occurs here {count} times, and {PAGE} says {stated}: state there why it is needed, and which \
                 test fails when it is wrong"
            );
            found.push(Finding::new(&file.path, 1, message));
        }
    }
    for (line, path, _) in rows.into_iter().filter(|row| tree.get(row.1).is_none()) {
        found.push(Finding::new(PAGE, line, format!("there is no {path}")));
    }
    found
}

/// The rows, with their line numbers, of a page's tables whose last column is headed `tests`.
pub(super) fn rows(text: &str) -> Vec<(usize, Vec<&str>)> {
    let (mut found, mut inside, mut counts) = (Vec::new(), false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let Some(row) = line.strip_prefix('|').and_then(|rest| rest.trim_end().strip_suffix('|')) else {
            inside = false;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if !inside {
            (inside, counts) = (true, cells.last() == Some(&"tests"));
        } else if counts && !cells[0].starts_with("---") {
            found.push((number, cells));
        }
    }
    found
}

/// The rows whose first cell is a Rust file.
fn rows_of(page: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    rows(page).into_iter().filter(|(_, cells)| cells[0].ends_with(".rs`"))
}

/// The words between backticks.
pub(super) fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn is_test(tree: &Tree, name: &str) -> bool {
    let function = format!("fn {name}(");
    tree.rust().any(|file| {
        file.text.split_once(&function).is_some_and(|(before, _)| {
            // Searched as text and not as syntax, so that tests inside a macro are found too.
            before.lines().rev().take(6).any(|line| line.trim() == "#[test]")
        })
    })
}

/// Number of times that the keyword `unsafe` occurs in code.
fn count(tokens: TokenStream) -> usize {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => count(group.stream()),
            TokenTree::Ident(word) => usize::from(word == "unsafe"),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    const HEAD: &str = "| file | uses | why | tests |\n| --- | --- | --- | --- |\n";
    const TEST: &str = "#[test]\nfn it_holds() {}\n";

    #[test]
    fn uses_without_a_row_and_rows_without_a_test_are_found() {
        let rows =
            "| `a.rs` | 1 | for this | `it_holds` |\n| `c.rs` | 2 | | `it_fails` |\n| `d.rs` | 1 | | by hand |\n";
        let tree = Tree::of(&[
            (PAGE, &format!("{HEAD}{rows}")),
            ("a.rs", &format!("{TEST}// unsafe\nfn f() {{ unsafe {{ g(\"unsafe\") }} }}")),
            ("b.rs", "macro_rules! m { () => { unsafe { f() } } }"),
            ("c.rs", "unsafe fn f() {}"),
        ]);
        let wanted = [(PAGE, 4), (PAGE, 5), ("b.rs", 1), ("c.rs", 1), (PAGE, 5)];
        assert_eq!(places(&check(&tree)), wanted.map(|(path, line)| format!("{path}:{line}")));
    }

    #[test]
    fn other_tables_may_name_what_they_like() {
        let tree = Tree::of(&[("a.md", "| what | where |\n| --- | --- |\n| x | `nowhere` |\n")]);
        assert_eq!(check(&tree), []);
    }
}
