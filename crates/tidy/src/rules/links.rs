//! Links of Markdown files have existing targets: files of the tree, and headings in them. The site that `make book`
//! builds from docs/ lists every page once, and no page links out of it.

use crate::{File, Finding, Tree};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashMap;

/// Finds relative links to missing files and to missing headings.
pub fn check_links(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (at, link) in links(&file.text) {
            if let Some(wrong) = judge(tree, file, &link) {
                let line = file.text[..at].lines().count().max(1);
                found.push(Finding::new(&file.path, line, format!("broken link {link}: {wrong}")));
            }
        }
    }
    found
}

/// Targets of links, with the byte position of each.
pub(super) fn links(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let targets = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((range.start + 1, dest_url.to_string()))
        }
        _ => None,
    });
    targets.filter(|(_, link)| !link.contains("://") && !link.starts_with("mailto:")).collect()
}

fn judge(tree: &Tree, file: &File, link: &str) -> Option<String> {
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = if path.is_empty() { file.path.clone() } else { relative(&file.path, path) };
    let folder = format!("{}/", target.trim_end_matches('/'));
    if tree.get(&target).is_none() && !tree.files.iter().any(|file| file.path.starts_with(&folder)) {
        return Some(format!("there is no {target}"));
    }
    let heading = heading?;
    let has = tree.get(&target).is_some_and(|file| headings(&file.text).iter().any(|have| have == heading));
    (!has).then(|| format!("{target} has no heading #{heading}"))
}

/// Resolves a path in a file, relative to the top of the tree.
pub(super) fn relative(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as GitHub generates them.
fn headings(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut words: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => words = Some(String::new()),
            Event::Text(text) | Event::Code(text) => words.iter_mut().for_each(|words| words.push_str(&text)),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&words.take().unwrap_or_default());
                let count = seen.entry(anchor.clone()).or_default();
                anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
                *count += 1;
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// The folder with the pages of the site.
const FOLDER: &str = "docs/";
const LIST: &str = "docs/SUMMARY.md";

/// Finds pages that the list lacks or contains twice, and links whose target is outside the site.
pub fn check_book(tree: &Tree) -> Vec<Finding> {
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
    fn links_to_files_and_headings_that_are_not_there_are_found() {
        let page = "# Top\n\n[a](docs/b.md) [b](docs/b.md#how-to-run-it) [c](#top) [d](docs) [e](https://x/y)\n\n\
                    [f](c.md)\n[g](docs/b.md#no)\n`[h](not.md)` [i](#none)\n";
        let tree = Tree::of(&[
            ("a.md", page),
            ("docs/b.md", "# How to run: `it`\n\n[up](../a.md) [down](a.md)\n"),
            ("docs/dir/x", ""),
        ]);
        assert_eq!(places(&check_links(&tree)), ["a.md:5", "a.md:6", "a.md:7", "docs/b.md:3"]);
    }

    #[test]
    fn headings_of_one_name_get_different_anchors() {
        assert_eq!(headings("# A b\n## A b\n"), ["a-b", "a-b-1"]);
    }

    #[test]
    fn pages_that_are_not_listed_once_and_links_out_of_the_folder_are_found() {
        let tree = Tree::of(&[
            ("docs/SUMMARY.md", "# Book\n\n- [a](a.md)\n- [b](b.md)\n- [b again](b.md)\n"),
            ("docs/a.md", "# A\n\n[b](b.md#b) [x](https://x/y) [own](#a)\n[up](../README.md)\n"),
            ("docs/b.md", "# B\n"),
            ("docs/c.md", "# C\n"),
            ("README.md", "[a](docs/a.md)\n"),
        ]);
        assert_eq!(places(&check_book(&tree)), ["docs/a.md:4", "docs/b.md:1", "docs/c.md:1"]);
        assert!(check_book(&Tree::of(&[("docs/a.md", "[up](../README.md)\n")])).is_empty(), "no list, no site");
    }
}
