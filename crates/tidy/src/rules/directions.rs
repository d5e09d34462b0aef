//! Dependencies between crates that the map does not allow.

use crate::{Finding, Tree, map::CRATES};
use toml_edit::{Document, Item};

/// Prefix of the names of this workspace's crates.
const PREFIX: &str = "tare-";
const MAP: &str = "crates/tidy/src/map.rs";

/// Finds crates with a dependency that the map does not allow, and crates that the map does not contain.
pub fn check(tree: &Tree) -> Vec<Finding> {
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
        for used in table.iter().filter_map(|(name, _)| name.strip_prefix(PREFIX)) {
            if !may_use.split(' ').any(|allowed| allowed == used) {
                let line = (1..).zip(file.text.lines()).find(|(_, line)| line.starts_with(&format!("{PREFIX}{used}")));
                let message = format!("{folder} may not depend on {used}: the map allows {may_use:?}");
                found.push(Finding::new(&file.path, line.map_or(1, |(number, _)| number), message));
            }
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
        assert_eq!(places(&check(&Tree::of(&files))), ["crates/stats/Cargo.toml:3", "crates/unheard/Cargo.toml:1"]);
    }
}
