//! Things that were only needed while something was made.

use crate::{Finding, Tree};

/// Endings of files that editors and merges leave behind.
const FILES: &[&str] = &[".orig", ".rej", ".bak", ".swp", "~"];
/// Beginnings of paths that only one machine has. Put together here, so that this file has none itself.
const PATHS: &[&str] =
    &[concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "bash_")];
/// Hosts that packages come from: a tool knows its own, and a mirror's name is a leftover.
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
const CONFLICTS: &[&str] = &[concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];

/// Finds files, paths of a machine, hosts of registries and marks of merges that were left behind. Macros are clippy's.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        if FILES.iter().any(|ending| file.path.ends_with(ending)) {
            found.push(Finding::new(&file.path, 1, "a file that an editor or a merge left: remove it"));
        }
        // Cargo writes the index of its registry there.
        for (number, line) in (1..).zip(file.text.lines()).filter(|_| file.name() != "Cargo.lock") {
            for path in PATHS.iter().filter(|path| holds_path(line, path)) {
                found.push(Finding::new(&file.path, number, format!("{path} is a path of one machine")));
            }
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                found.push(Finding::new(&file.path, number, format!("{host} is a package registry's host")));
            }
            if CONFLICTS.iter().any(|mark| line.starts_with(mark)) {
                found.push(Finding::new(&file.path, number, "a mark of a merge was left"));
            }
        }
    }
    found
}

/// Whether an absolute path begins there, and not merely a part of another path.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-}*)/$<>~".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_paths_hosts_and_marks_that_were_left_are_found() {
        let machine = format!("run {}me/x\n", "/ho");
        let host = format!("from https://{}.org\n", "pypi");
        let mark = format!("{} HEAD\n", "<<<<<<<");
        let lock = format!("https://{}.crates.io", "index");
        let tree = Tree::of(&[
            ("b.rs.orig", ""),
            ("c.sh", &machine),
            ("d.md", &host),
            ("e.md", &mark),
            ("f.md", "target/home/x ~/work/y $TOP/home/z"),
            ("Cargo.lock", &lock),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        let expected = [("b.rs.orig", 1), ("c.sh", 1), ("d.md", 1), ("e.md", 1)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_string(), line)));
    }
}
