//! Uses that go against the map's directions.

use crate::{
    Finding, Tree,
    map::{CRATES, ROOMS, Room},
    modules::Modules,
};
use std::collections::BTreeSet;
use toml_edit::{Document, Item};

/// Where the rooms are.
const ROOMS_FOLDER: &str = "crates/tare/src/";
/// The names of this workspace's crates begin with it.
const PREFIX: &str = "tare-";
const MAP: &str = "crates/tidy/src/map.rs";

/// Finds crates and rooms that use what the map does not let them use, and folders that the map does not know.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = crates(tree);
    found.extend(rooms(tree, ROOMS));
    found
}

fn crates(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let Some(folder) = file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some(known) = CRATES.iter().find(|known| known.folder == folder) else {
            found.push(Finding::new(&file.path, 1, format!("{MAP} does not say what this crate may use")));
            continue;
        };
        let Ok(document) = Document::parse(file.text.as_str()) else { continue };
        let Some(table) = document.get("dependencies").and_then(Item::as_table_like) else { continue };
        for used in table.iter().filter_map(|(name, _)| name.strip_prefix(PREFIX)) {
            if !known.may_use.contains(&used) {
                let line = (1..).zip(file.text.lines()).find(|(_, line)| line.starts_with(&format!("{PREFIX}{used}")));
                let message = format!("{folder} may not depend on {used}: the map allows {:?}", known.may_use);
                found.push(Finding::new(&file.path, line.map_or(1, |(number, _)| number), message));
            }
        }
    }
    found
}

fn rooms(tree: &Tree, rooms: &[Room]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut needed = BTreeSet::new();
    let modules = Modules::of(tree, &format!("{ROOMS_FOLDER}lib.rs"));
    for (id, module) in modules.0.iter().enumerate() {
        let Some(name) = room_of(&module.file) else { continue };
        let Some(room) = rooms.iter().find(|room| room.name == name) else {
            found.push(Finding::new(&module.file, 1, format!("{MAP} does not know the room {name}")));
            continue;
        };
        let mut seen = BTreeSet::new();
        for (line, path) in &module.used {
            let (used, target, allowed) = if let Some(used) = of_workspace(path) {
                let allowed = room.crates.contains(&used.as_str());
                (used, "the crate".to_string(), allowed)
            } else if let Some(file) = modules.file_of(id, path)
                && let Some(used) = room_of(file)
            {
                (used.to_string(), file.to_string(), used == name || room.rooms.contains(&used))
            } else {
                continue;
            };
            if allowed {
                continue;
            }
            let message = format!("{name} may not use {used} ({target})");
            match room.until_mended.iter().find(|known| **known == used) {
                Some(known) => _ = needed.insert((name.to_string(), *known)),
                None if seen.insert(target) => found.push(Finding::new(&module.file, *line, message)),
                None => {}
            }
        }
    }
    for room in rooms.iter().filter(|room| modules.0.iter().any(|module| room_of(&module.file) == Some(room.name))) {
        let unneeded = room.until_mended.iter().filter(|known| !needed.contains(&(room.name.to_string(), **known)));
        let message = |known| format!("{} no longer uses {known}: take it out of until_mended", room.name);
        found.extend(unneeded.map(|known| Finding::new(MAP, 1, message(known))));
    }
    found
}

/// The room that a file is in; none for lib.rs and main.rs.
fn room_of(file: &str) -> Option<&str> {
    file.strip_prefix(ROOMS_FOLDER)?.split_once('/').map(|(room, _)| room)
}

/// The folder of the workspace's crate that a path begins with.
fn of_workspace(path: &[String]) -> Option<String> {
    let name = path.first()?.replace('_', "-");
    let folder = name.strip_prefix(PREFIX)?;
    CRATES.iter().any(|known| known.folder == folder).then(|| folder.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], rooms: &[Room]) -> Vec<(String, usize)> {
        let tree = Tree::of(files);
        let all = crates(&tree).into_iter().chain(super::rooms(&tree, rooms));
        all.map(|finding| (finding.path, finding.line)).collect()
    }

    #[test]
    fn a_crate_that_depends_against_the_map_is_found() {
        let files = [
            ("crates/stats/Cargo.toml", "[dependencies]\n# Why.\ntare-results.workspace = true\n"),
            ("crates/noise/Cargo.toml", "[dependencies]\ntare-topology.workspace = true\n"),
            ("crates/unheard/Cargo.toml", ""),
        ];
        assert_eq!(
            found(&files, ROOMS),
            [("crates/stats/Cargo.toml".to_string(), 3), ("crates/unheard/Cargo.toml".to_string(), 1)]
        );
    }

    const ROOMS_TREE: &[(&str, &str)] = &[
        ("crates/tare/src/lib.rs", "pub mod analysis; pub mod report; pub mod attic;"),
        ("crates/tare/src/analysis/mod.rs", "pub mod odd;"),
        ("crates/tare/src/analysis/odd.rs", "use tare_stats::x;\nuse tare_engine::y;\nuse crate::report::page;"),
        ("crates/tare/src/report/mod.rs", "mod html; pub use html::page;"),
        ("crates/tare/src/report/html.rs", "pub fn page() { crate::analysis::odd::f() }"),
        ("crates/tare/src/attic/mod.rs", ""),
    ];

    fn two_rooms(until_mended: [&'static [&'static str]; 2]) -> [Room; 2] {
        let [analysis, report] = until_mended;
        [
            Room { name: "analysis", rooms: &[], crates: &["stats"], until_mended: analysis },
            Room { name: "report", rooms: &["analysis"], crates: &[], until_mended: report },
        ]
    }

    #[test]
    fn a_room_that_uses_against_the_map_is_found() {
        let odd = "crates/tare/src/analysis/odd.rs".to_string();
        let attic = ("crates/tare/src/attic/mod.rs".to_string(), 1);
        assert_eq!(found(ROOMS_TREE, &two_rooms([&[], &[]])), [(odd.clone(), 2), (odd, 3), attic]);
    }

    #[test]
    fn an_exception_is_for_one_room_and_must_be_needed() {
        let odd = "crates/tare/src/analysis/odd.rs".to_string();
        let attic = ("crates/tare/src/attic/mod.rs".to_string(), 1);
        assert_eq!(found(ROOMS_TREE, &two_rooms([&["report"], &[]])), [(odd.clone(), 2), attic.clone()]);
        let stale = (MAP.to_string(), 1);
        assert_eq!(found(ROOMS_TREE, &two_rooms([&["engine", "report"], &["cli"]])), [attic, stale]);
    }
}
