//! Leftovers of development: backup files, paths of one machine, merge conflicts, notes of work that is left, and words
//! that are hard to read.

use crate::{Finding, Tree};

/// Suffixes of files that editors and merges leave behind.
const FILES: &[&str] = &[".orig", ".rej", ".bak", ".swp", "~"];
/// Beginnings of paths that exist only on one machine. Split with `concat!`, so that this file does not contain them.
const PATHS: &[&str] =
    &[concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "bash_")];
/// Hosts of package registries: each tool knows its own, so a host name in the tree is left over from a mirror.
const HOSTS: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.", "npmjs"),
    concat!("proxy.", "golang"),
    concat!("repo1.", "maven"),
    concat!("deb.", "debian.org"),
    concat!("archive.", "ubuntu.com"),
];
/// Words, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    (concat!("how", "-manieth"), "say \"its number, counted from 0\" or the like"),
    (concat!("the", " the "), "one \"the\""),
    (concat!("TO", "DO"), "do it, or open an issue"),
    (concat!("FIX", "ME"), "fix it, or open an issue"),
];
const CONFLICTS: &[&str] = &[concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];

/// Finds backup files, paths of one machine, hosts of registries, conflict markers, and in source and text the words.
/// Clippy finds leftover macros.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        if FILES.iter().any(|ending| file.path.ends_with(ending)) {
            found.push(Finding::new(&file.path, 1, "a file that an editor or a merge left: remove it"));
        }
        let has_text = file.is_rust() || file.path.ends_with(".md") || file.path.ends_with(".toml");
        // Cargo writes the index of its registry into Cargo.lock.
        for (number, line) in (1..).zip(file.text.lines()).filter(|_| file.name() != "Cargo.lock") {
            for path in PATHS.iter().filter(|path| holds_path(line, path)) {
                found.push(Finding::new(&file.path, number, format!("{path} is a path of one machine")));
            }
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                found.push(Finding::new(&file.path, number, format!("{host} is a package registry's host")));
            }
            for (words, instead) in WORDS.iter().filter(|(words, _)| has_text && holds_words(line, words)) {
                found.push(Finding::new(&file.path, number, format!("{words:?}: {instead}")));
            }
            if CONFLICTS.iter().any(|mark| line.starts_with(mark)) {
                found.push(Finding::new(&file.path, number, "a conflict marker of a merge was left"));
            }
        }
    }
    found
}

/// Whether an absolute path begins there, and not only a part of another path.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-}*)/$<>~".contains(c))
    })
}

/// Whether the words occur there, and not as the end of a longer word.
fn holds_words(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn files_paths_hosts_marks_and_words_that_were_left_are_found() {
        let machine = format!("run {}me/x\n", "/ho");
        let host = format!("from https://{}.org\n", "pypi");
        let mark = format!("{} HEAD\n", "<<<<<<<");
        let lock = format!("https://{}.crates.io", "index");
        let text = format!("fine\nin {}sea\nbathe the sea\n", WORDS[1].0);
        let word = format!("// the {} of them\n", WORDS[0].0);
        let tree = Tree::of(&[
            ("b.rs.orig", ""),
            ("c.sh", &machine),
            ("d.md", &host),
            ("e.md", &mark),
            ("f.md", "target/home/x ~/work/y $TOP/home/z"),
            ("Cargo.lock", &lock),
            ("g.md", &text),
            ("h.rs", &word),
            ("i.sh", &word),
        ]);
        assert_eq!(places(&check(&tree)), ["b.rs.orig:1", "c.sh:1", "d.md:1", "e.md:1", "g.md:2", "h.rs:1"]);
    }
}
