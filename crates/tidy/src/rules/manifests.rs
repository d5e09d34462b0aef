//! Every dependency has a comment with its reason, and the code uses it. Examples, where there are any, are tested.

use crate::{File, Finding, Tree};
use toml_edit::{Document, Item, TableLike};

/// Tables of dependencies, and whether only tests use their entries.
const TABLES: &[(&str, bool)] = &[("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)];
/// Features of programs that are built for tests: only dependencies of tests may enable them.
const FOR_TESTS: &[&str] = &["crash-points", "planted-lock", "test-support"];
/// Prefix of the crates of this workspace; ARCHITECTURE.md explains them.
const OWN: &str = "tare-";

/// Finds external dependencies without a comment above them, dependencies that no source file names, test features in
/// released programs, and examples that no test runs.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        match Document::parse(file.text.as_str()) {
            Ok(document) => {
                tables(document.as_table(), &mut |table, tests| judge(tree, file, table, tests, &mut found))
            }
            Err(error) => found.push(Finding::new(&file.path, 1, error.to_string())),
        }
        found.extend(features_for_tests(file));
        found.extend(untested_example(tree, file));
    }
    found
}

/// The first example of a package with `doctest = false`.
fn untested_example(tree: &Tree, manifest: &File) -> Option<Finding> {
    manifest.text.lines().find(|line| *line == "doctest = false")?;
    let sources = format!("{}src/", manifest.path.trim_end_matches("Cargo.toml"));
    let is_example = |line: &str| ["/// ```", "//! ```"].iter().any(|begin| line.trim_start().starts_with(begin));
    tree.rust().filter(|file| file.path.starts_with(&sources)).find_map(|file| {
        let (number, _) = (1..).zip(file.text.lines()).find(|(_, line)| is_example(line))?;
        let message = format!("this file has an example: remove doctest = false from {}", manifest.path);
        Some(Finding::new(&file.path, number, message))
    })
}

/// Lines that would enable a test feature in a program that is not built for tests.
fn features_for_tests(file: &File) -> Vec<Finding> {
    let (mut found, mut of_tests) = (Vec::new(), false);
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.starts_with('[') {
            of_tests = line.trim() == "[dev-dependencies]";
        }
        for name in FOR_TESTS.iter().filter(|name| line.contains(**name)) {
            if !of_tests && line.trim() != format!("{name} = []") {
                let message = format!("{name} is for tests: only [dev-dependencies] may turn it on");
                found.push(Finding::new(&file.path, number, message));
            }
        }
    }
    found
}

/// Calls `call` for each table of dependencies of a package, including those for one target.
fn tables(package: &dyn TableLike, call: &mut impl FnMut(&dyn TableLike, bool)) {
    for (name, tests) in TABLES {
        if let Some(table) = package.get(name).and_then(Item::as_table_like) {
            call(table, *tests);
        }
    }
    let targets = package.get("target").and_then(Item::as_table_like);
    for target in targets.iter().flat_map(|targets| targets.iter()).filter_map(|(_, item)| item.as_table_like()) {
        tables(target, call);
    }
}

fn judge(tree: &Tree, file: &File, table: &dyn TableLike, tests: bool, found: &mut Vec<Finding>) {
    for (name, _) in table.iter() {
        let Some(key) = table.key(name) else { continue };
        let line = key.span().map_or(1, |span| file.text[..span.start].lines().count() + 1);
        if !name.starts_with(OWN) && !has_reason(&file.text, line) {
            found.push(Finding::new(&file.path, line, format!("{name}: state above it why it is needed")));
        }
        if !is_used(tree, file, name, tests) {
            found.push(Finding::new(&file.path, line, format!("{name}: nothing uses it; remove it")));
        }
    }
}

/// Whether the line above `line`, which is counted from 1, is a comment.
fn has_reason(text: &str, line: usize) -> bool {
    line.checked_sub(2).and_then(|above| text.lines().nth(above)).is_some_and(|above| above.starts_with('#'))
}

/// Whether a source file of the package names the crate.
fn is_used(tree: &Tree, manifest: &File, name: &str, tests: bool) -> bool {
    let folder = manifest.path.trim_end_matches("Cargo.toml");
    let ident = name.replace('-', "_");
    let mut sources = tree.rust().filter(|file| file.path.starts_with(folder));
    sources.any(|file| (tests || !file.path[folder.len()..].starts_with("tests/")) && names(&file.text, &ident))
}

/// Whether a text contains an identifier as a whole word outside comments.
fn names(text: &str, ident: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.lines().filter(|line| !line.trim_start().starts_with("// ")).any(|line| {
        line.match_indices(ident).any(|(at, _)| {
            let around = (line[..at].chars().next_back(), line[at + ident.len()..].chars().next());
            !around.0.is_some_and(part) && !around.1.is_some_and(part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_or_a_use_is_found() {
        let manifest = "\
[package]
name = \"a\"

[dependencies]
tare-text.workspace = true
# Reads numbers.
num-bers = \"1\"
plain = \"1\"
# Idle.
idle.workspace = true

[target.'cfg(unix)'.dependencies]
libc.workspace = true

[dev-dependencies]
# Of tests.
tested = { version = \"1\" }
";
        let tree = Tree::of(&[
            ("a/Cargo.toml", manifest),
            ("a/src/lib.rs", "use num_bers::x; use tare_text::y; use plain as z; use libc; fn idle_time() {}"),
            ("a/tests/b.rs", "use tested::b; use idle;"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.line, finding.message)).collect();
        let expected = [(8, "plain: state"), (10, "idle: nothing"), (13, "libc: state")];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((line, message), (expected_line, begins)) in found.iter().zip(expected) {
            assert!(*line == expected_line && message.starts_with(begins), "{found:?}");
        }
    }

    #[test]
    fn a_feature_for_tests_is_turned_on_by_tests_alone() {
        let manifest = "\
[features]
crash-points = []
default = [\"crash-points\"]
all = [\"tare-files/crash-points\"]

[dependencies]
tare-files = { workspace = true, features = [\"crash-points\"] }

[dev-dependencies]
tare-files = { workspace = true, features = [\"crash-points\"] }
";
        let tree = Tree::of(&[("a/Cargo.toml", manifest), ("a/src/lib.rs", "use tare_files::x;")]);
        let lines: Vec<_> = check(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 7]);
    }

    #[test]
    fn an_example_that_no_test_runs_is_found() {
        let source = "//! Adds.\n\n/// ```\n/// a::f();\n/// ```\npub fn f() {}\n";
        let tree = |manifest: &str| Tree::of(&[("a/Cargo.toml", manifest), ("a/src/lib.rs", source)]);
        let found: Vec<_> = check(&tree("[lib]\ndoctest = false\n")).into_iter().map(|found| found.line).collect();
        assert_eq!(found, [3]);
        assert!(check(&tree("[lib]\n")).is_empty());
    }
}
