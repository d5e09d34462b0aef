//! The site that `make book` builds from docs/: its table of contents lists every page once, and no page links to
//! files outside the folder.

use super::links::{links, relative};
use crate::{File, Finding, Tree};

/// The folder with the pages of the site.
const FOLDER: &str = "docs/";
const LIST: &str = "docs/SUMMARY.md";

/// Finds pages that the list lacks or contains twice, and links whose target is outside the site.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.get(LIST) else { return Vec::new() };
    let listed: Vec<String> = links(&list.text).iter().map(|(_, link)| relative(LIST, link)).collect();
    let pages = tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".md"));
    let mut found = Vec::new();
    for page in pages.filter(|page| page.path != LIST) {
        match listed.iter().filter(|path| **path == page.path).count() {
            1 => {}
            0 => found.push(Finding::new(&page.path, 1, format!("{LIST} has no line for this page"))),
            many => found.push(Finding::new(&page.path, 1, format!("{LIST} has {many} lines for this page"))),
        }
        found.extend(out(page));
    }
    found
}

/// The links of a page that lead out of the folder.
fn out(page: &File) -> Vec<Finding> {
    let leaves = |link: &str| {
        let path = link.split('#').next().unwrap_or_default();
        !path.is_empty() && !relative(&page.path, path).starts_with(FOLDER)
    };
    let found = links(&page.text).into_iter().filter(|(_, link)| leaves(link));
    found
        .map(|(at, link)| {
            let line = page.text[..at].lines().count().max(1);
            Finding::new(&page.path, line, format!("{link} leads out of {FOLDER}, from which the site is built"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn pages_that_are_not_listed_once_and_links_out_of_the_folder_are_found() {
        let tree = Tree::of(&[
            ("docs/SUMMARY.md", "# Book\n\n- [a](a.md)\n- [b](b.md)\n- [b again](b.md)\n"),
            ("docs/a.md", "# A\n\n[b](b.md#b) [x](https://x/y) [own](#a)\n[up](../README.md)\n"),
            ("docs/b.md", "# B\n"),
            ("docs/c.md", "# C\n"),
            ("README.md", "[a](docs/a.md)\n"),
        ]);
        assert_eq!(places(&check(&tree)), ["docs/a.md:4", "docs/b.md:1", "docs/c.md:1"]);
        assert!(check(&Tree::of(&[("docs/a.md", "[up](../README.md)\n")])).is_empty(), "no list, no site");
    }
}
