//! Every safety claim names tests that exist, and a test that was seen to fail: the tables of the docs whose last
//! column is `tests`, compared with the code and with scripts/safeguards.txt.
//!
//! Every file with `unsafe` has a row in one of the tables. Each row of docs/security.md and docs/unsafe.md has a
//! mutant in `scripts/safeguards.txt`, or an entry there with the reason for having none; and the text that a mutant
//! replaces exists.

use crate::{Finding, Tree};
use proc_macro2::{TokenStream, TokenTree};

/// The page with the argument and the tests for every `unsafe`.
const PAGE: &str = "docs/unsafe.md";

/// Finds rows without an existing test, and files whose number of `unsafe` differs from their row.
pub fn check_proofs(tree: &Tree) -> Vec<Finding> {
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

/// The list of mutants; its own header and `scripts/safeguards` describe the format.
const MUTANTS: &str = "scripts/safeguards.txt";
const ATTACKS: &str = "docs/security.md";

/// The contents of the list: each line number with its test, and for a mutant with its file.
#[derive(Default)]
struct Mutants<'a> {
    /// Lines with the test, the file and the text that is replaced.
    replaced: Vec<(usize, &'a str, &'a str, &'a str)>,
    /// Lines with a test that has no mutant.
    without: Vec<(usize, &'a str)>,
}

/// Finds rows without a mutant, and mutants without a row or without a text to replace.
pub fn check_mutants(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(MUTANTS) else { return Vec::new() };
    let mutants = read_mutants(&file.text);
    let mut found = Vec::new();
    for &(line, _, path, text) in &mutants.replaced {
        let times = tree.get(path).map_or(0, |file| file.text.matches(text).count());
        if times != 1 {
            let message = format!("this text occurs {times} times in {path}; it must occur once");
            found.push(Finding::new(MUTANTS, line, message));
        }
    }
    let mut all: Vec<&str> = Vec::new();
    for page in [ATTACKS, PAGE].into_iter().filter_map(|path| tree.get(path)) {
        for (line, cells) in rows(&page.text) {
            let tests = words(cells.last().copied().unwrap_or_default());
            let place = Some(cells[0].trim_matches('`')).filter(|_| page.path == PAGE);
            let mut has = mutants
                .replaced
                .iter()
                .filter(|(_, test, path, _)| tests.contains(test) && place.is_none_or(|place| place == *path));
            let excused = mutants.without.iter().any(|(_, name)| place.or(tests.first().copied()) == Some(*name));
            if has.next().is_none() && !excused {
                let message =
                    format!("no mutant in {MUTANTS} makes a test of this row fail: write one, or say why not");
                found.push(Finding::new(&page.path, line, message));
            }
            all.extend(tests.into_iter().chain(place));
        }
    }
    let named = mutants.replaced.iter().map(|(line, test, ..)| (*line, *test));
    for (line, name) in named.chain(mutants.without).filter(|(_, name)| !all.contains(name)) {
        found.push(Finding::new(MUTANTS, line, format!("{name} is in no row of {ATTACKS} or {PAGE}")));
    }
    found
}

fn read_mutants(text: &str) -> Mutants<'_> {
    let mut mutants = Mutants::default();
    let (mut test, mut file) = ("", "");
    for (number, line) in (1..).zip(text.lines()) {
        match line.split_once(' ') {
            Some(("test", name)) => test = name,
            Some(("file", path)) => file = path,
            Some(("-", text)) => mutants.replaced.push((number, test, file, text)),
            Some(("without", rest)) => {
                mutants.without.push((number, rest.split_once(": ").map_or("", |(name, _)| name)));
            }
            _ => {}
        }
    }
    mutants
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
        assert_eq!(places(&check_proofs(&tree)), wanted.map(|(path, line)| format!("{path}:{line}")));
    }

    #[test]
    fn other_tables_may_name_what_they_like() {
        let tree = Tree::of(&[("a.md", "| what | where |\n| --- | --- |\n| x | `nowhere` |\n")]);
        assert_eq!(check_proofs(&tree), []);
    }

    #[test]
    fn rows_without_a_mutant_and_mutants_that_fit_nothing_are_found() {
        let attacks = "| what | tests |\n| --- | --- |\n| a | `one`, `two` |\n| b | `three` |\n| c | `four` |\n";
        let uses = "| file | tests |\n| --- | --- |\n| `a.rs` | `two` |\n| `b.rs` | `two` |\n";
        let mutants = "in tare --lib\ntest two\nfile a.rs\n- if x {\n+ if true {\n- twice\n\
                       test gone\nfile c.rs\n- x\n+\nwithout four: not written yet\nwithout none: why\n";
        let tree = Tree::of(&[(ATTACKS, attacks), (PAGE, uses), (MUTANTS, mutants), ("a.rs", "if x { twice(twice) }")]);
        let wanted = [(MUTANTS, 6), (MUTANTS, 9), (ATTACKS, 4), (PAGE, 4), (MUTANTS, 9), (MUTANTS, 12)];
        assert_eq!(places(&check_mutants(&tree)), wanted.map(|(path, line)| format!("{path}:{line}")));
    }
}
