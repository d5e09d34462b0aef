//! The structure of the code: dependencies between crates that the map does not allow, cycles of files, and items in a
//! mod.rs, which only declares the modules of its folder.

use crate::map::CRATES;
use crate::modules::Modules;
use crate::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use syn::spanned::Spanned;
use toml_edit::{Document, Item};

/// Prefix of the names of this workspace's crates.
const CRATE_PREFIX: &str = "tare-";
const MAP: &str = "crates/tidy/src/map.rs";

/// Finds crates with a dependency that the map does not allow, and crates that the map does not contain.
pub fn check_directions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let Some(folder) = file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some((_, may_use)) = CRATES.iter().find(|(known, _)| *known == folder) else {
            found.push(Finding::new(&file.path, 1, format!("{MAP} does not say what this crate may use")));
            continue;
        };
        let Ok(document) = Document::parse(file.text.as_str()) else { continue };
        let Some(table) = document.get("dependencies").and_then(Item::as_table_like) else { continue };
        for used in table.iter().filter_map(|(name, _)| name.strip_prefix(CRATE_PREFIX)) {
            if !may_use.split(' ').any(|allowed| allowed == used) {
                let line =
                    (1..).zip(file.text.lines()).find(|(_, line)| line.starts_with(&format!("{CRATE_PREFIX}{used}")));
                let message = format!("{folder} may not depend on {used}: the map allows {may_use:?}");
                found.push(Finding::new(&file.path, line.map_or(1, |(number, _)| number), message));
            }
        }
    }
    found
}

/// For each file, the files that it uses, each with a line that does so.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// Finds the cycles of files in every crate, each once.
pub fn check_circles(tree: &Tree) -> Vec<Finding> {
    let roots = tree.files.iter().filter(|file| file.path.ends_with("/src/lib.rs"));
    let uses = roots.flat_map(|root| uses(tree, &root.path)).collect();
    circles(&uses)
}

fn uses(tree: &Tree, root: &str) -> Uses {
    let modules = Modules::of(tree, root);
    let mut uses = Uses::new();
    for (id, module) in modules.0.iter().enumerate() {
        for (line, path) in &module.used {
            match modules.file_of(id, path) {
                Some(target) if target != module.file => {
                    _ = uses.entry(module.file.clone()).or_default().entry(target.into()).or_insert(*line);
                }
                _ => {}
            }
        }
    }
    uses
}

fn circles(uses: &Uses) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, used) in uses {
        for (target, line) in used {
            let Some(back) = shortest(uses, target, file) else { continue };
            // The same cycle is found once from each of its files.
            if seen.insert(back.iter().cloned().collect::<BTreeSet<_>>()) {
                let message = format!("circle: {file} -> {}", back.join(" -> "));
                found.push(Finding::new(file, *line, message));
            }
        }
    }
    found
}

/// The shortest path from one file to another, both included.
fn shortest(uses: &Uses, from: &str, to: &str) -> Option<Vec<String>> {
    let mut before: HashMap<&str, &str> = HashMap::from([(from, from)]);
    let mut waiting = VecDeque::from([from]);
    while let Some(here) = waiting.pop_front() {
        if here == to {
            let mut way = vec![here.to_string()];
            let mut at = here;
            while at != from {
                at = before[at];
                way.push(at.to_string());
            }
            way.reverse();
            return Some(way);
        }
        for next in uses.get(here).into_iter().flat_map(BTreeMap::keys) {
            if !before.contains_key(next.as_str()) {
                before.insert(next, here);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// Finds items in a mod.rs other than modules and `use`.
pub fn check_folders(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.name() == "mod.rs" && !file.is_test()) {
        let items = file.syntax.iter().flat_map(|syntax| &syntax.items);
        for item in items.filter(|item| !matches!(item, syn::Item::Mod(_) | syn::Item::Use(_))) {
            let line = item.span().start().line;
            found.push(Finding::new(&file.path, line, "a mod.rs has no items of its own: move this to its own file"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn a_crate_that_depends_against_the_map_is_found() {
        let files = [
            ("crates/stats/Cargo.toml", "[dependencies]\n# Why.\ntare-results.workspace = true\n"),
            ("crates/noise/Cargo.toml", "[dependencies]\ntare-cpuset.workspace = true\n"),
            ("crates/unheard/Cargo.toml", ""),
        ];
        assert_eq!(
            places(&check_directions(&Tree::of(&files))),
            ["crates/stats/Cargo.toml:3", "crates/unheard/Cargo.toml:1"]
        );
    }

    fn tree(c: &str) -> Uses {
        let tree = Tree::of(&[
            ("x/src/lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("x/src/a.rs", "use crate::b::B; pub struct A;"),
            ("x/src/b.rs", "use super::c;\nfn f() { c::g() } pub struct B;"),
            ("x/src/c.rs", c),
        ]);
        uses(&tree, "x/src/lib.rs")
    }

    #[test]
    fn a_cycle_of_three_files_is_found_once() {
        let found = circles(&tree("fn h() { crate::A; }"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("x/src/b.rs -> x/src/c.rs -> x/src/a.rs"), "{found:?}");
    }

    #[test]
    fn a_use_in_a_test_closes_no_cycle() {
        assert!(circles(&tree("#[cfg(test)] mod tests { use crate::A; }")).is_empty());
    }

    #[test]
    fn an_item_in_a_folders_list_is_found() {
        let tree = Tree::of(&[
            ("c/src/a/mod.rs", "//! Things.\nmod b;\npub use b::B;\n\nconst X: u8 = 1;\n"),
            ("c/src/a/b.rs", "pub struct B;"),
            ("c/tests/common/mod.rs", "pub fn shared() {}"),
        ]);
        assert_eq!(places(&check_folders(&tree)), ["c/src/a/mod.rs:5"]);
    }
}
