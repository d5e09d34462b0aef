//! Cycles of files: files that use each other, perhaps through more files, cannot be read, moved or tested alone.

use crate::{Finding, Tree, modules::Modules};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// For each file, the files that it uses, each with a line that does so.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// Finds the cycles of files in every crate, each once.
pub fn check(tree: &Tree) -> Vec<Finding> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
