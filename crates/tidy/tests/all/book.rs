//! The built site: every link in it leads to an existing file and heading of it. `make book` builds it first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

fn values(page: &str, attribute: &str) -> Vec<String> {
    let begin = format!(" {attribute}=\"");
    let found = page.match_indices(&begin).filter_map(|(at, _)| page[at + begin.len()..].split('"').next());
    found.map(|value| value.replace("&amp;", "&")).collect()
}

/// Broken links, one per line, and network addresses from which something would be loaded.
fn judge(pages: &BTreeMap<PathBuf, String>, files: &BTreeSet<PathBuf>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, page) in pages {
        let links = values(page, "href").into_iter().chain(values(page, "src"));
        for link in links.filter(|link| !link.starts_with("mailto:") && !link.starts_with("javascript:")) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').map_or((link.as_str(), None), |(file, id)| (file, Some(id)));
            let target = if file.is_empty() { path.clone() } else { next_to(path, file) };
            if !files.contains(&target) {
                found.push(format!("{}: {link}: there is no {}", path.display(), target.display()));
            } else if let (Some(heading), Some(page)) = (heading.filter(|id| !id.is_empty()), pages.get(&target))
                && !values(page, "id").iter().any(|id| id == heading)
            {
                found.push(format!("{}: {link}: nothing there has this id", path.display()));
            }
        }
        for loaded in values(page, "src").iter().filter(|link| link.contains("://")) {
            found.push(format!("{}: {loaded} is loaded from a network", path.display()));
        }
    }
    found
}

/// The file that a link of a page means, relative to the top of the site.
fn next_to(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

fn read(folder: &Path, below: &Path, pages: &mut BTreeMap<PathBuf, String>, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            read(folder, &path, pages, files);
        } else {
            if path.extension().is_some_and(|end| end == "html") {
                pages.insert(path.clone(), std::fs::read_to_string(entry.path()).unwrap());
            }
            files.insert(path);
        }
    }
}

#[test]
#[ignore = "needs the site that `make book` builds"]
fn every_link_of_the_built_site_leads_somewhere() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/book");
    let (mut pages, mut files) = (BTreeMap::new(), BTreeSet::new());
    read(&site, Path::new(""), &mut pages, &mut files);
    assert!(pages.len() > 20, "{} pages in {}", pages.len(), site.display());
    // The page for unknown addresses has paths relative to the server's root.
    pages.remove(Path::new("404.html"));
    let found = judge(&pages, &files);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_link_to_nowhere_and_a_script_from_a_network_are_found() {
    let page = |text: &str| text.to_owned();
    let pages = BTreeMap::from([
        (
            PathBuf::from("a.html"),
            page("<h1 id=\"a\"><a href=\"#a\">A</a> <a href=\"d/b.html#b\">B</a> <a href=\"https://x/y\">Y</a>"),
        ),
        (
            PathBuf::from("d/b.html"),
            page("<h1 id=\"b\"><a href=\"../c.html\">C</a> <a href=\"#no\">N</a> <script src=\"https://x/y.js\">"),
        ),
    ]);
    let found = judge(&pages, &pages.keys().cloned().collect());
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("c.html") && found[1].contains("#no") && found[2].contains("y.js"), "{found:?}");
}
