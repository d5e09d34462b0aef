//! Links of Markdown files have existing targets: files of the tree, and headings in them.

use crate::{File, Finding, Tree};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashMap;

/// Finds relative links to missing files and to missing headings.
pub fn check(tree: &Tree) -> Vec<Finding> {
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
        assert_eq!(places(&check(&tree)), ["a.md:5", "a.md:6", "a.md:7", "docs/b.md:3"]);
    }

    #[test]
    fn headings_of_one_name_get_different_anchors() {
        assert_eq!(headings("# A b\n## A b\n"), ["a-b", "a-b-1"]);
    }
}
