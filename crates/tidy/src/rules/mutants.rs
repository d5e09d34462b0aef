//! Every safety claim has a test that was seen to fail: each row of docs/security.md and docs/unsafe.md has a mutant
//! in `scripts/safeguards.txt`, or an entry there with the reason for having none; and the text that a mutant
//! replaces exists.

use super::proofs::{PAGE, rows, words};
use crate::{Finding, Tree};

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
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(MUTANTS) else { return Vec::new() };
    let mutants = read(&file.text);
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

fn read(text: &str) -> Mutants<'_> {
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

    #[test]
    fn rows_without_a_mutant_and_mutants_that_fit_nothing_are_found() {
        let attacks = "| what | tests |\n| --- | --- |\n| a | `one`, `two` |\n| b | `three` |\n| c | `four` |\n";
        let uses = "| file | tests |\n| --- | --- |\n| `a.rs` | `two` |\n| `b.rs` | `two` |\n";
        let mutants = "in tare --lib\ntest two\nfile a.rs\n- if x {\n+ if true {\n- twice\n\
                       test gone\nfile c.rs\n- x\n+\nwithout four: not written yet\nwithout none: why\n";
        let tree = Tree::of(&[(ATTACKS, attacks), (PAGE, uses), (MUTANTS, mutants), ("a.rs", "if x { twice(twice) }")]);
        let wanted = [(MUTANTS, 6), (MUTANTS, 9), (ATTACKS, 4), (PAGE, 4), (MUTANTS, 9), (MUTANTS, 12)];
        assert_eq!(places(&check(&tree)), wanted.map(|(path, line)| format!("{path}:{line}")));
    }
}
