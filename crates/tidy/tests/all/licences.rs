//! Every dependency is allowed: its licence, its source and its versions, by the lists of deny.toml.

use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path, process::Command};
use toml_edit::{Document, Item};

/// The licences and crates that deny.toml allows.
struct Allowed {
    licences: Vec<String>,
    /// Licences that are allowed for one crate only.
    exceptions: BTreeMap<String, Vec<String>>,
    /// Crates that are allowed in two versions.
    twice: Vec<String>,
}

fn words(item: Option<&Item>) -> Vec<String> {
    let array = item.and_then(Item::as_array).into_iter().flatten();
    array.filter_map(|value| value.as_str()).map(String::from).collect()
}

fn allowed(top: &Path) -> Allowed {
    let text = fs::read_to_string(top.join("deny.toml")).unwrap();
    let document = Document::parse(text.as_str()).unwrap();
    let licences = &document["licenses"];
    let exceptions = licences["exceptions"].as_array_of_tables().unwrap().iter();
    let skip = document["bans"]["skip"].as_array().unwrap().iter();
    let skip = skip.filter_map(|entry| entry.as_inline_table()?.get("crate")?.as_str()?.split('@').next());
    Allowed {
        licences: words(licences.get("allow")),
        exceptions: exceptions
            .map(|one| (one["crate"].as_str().unwrap().to_string(), words(one.get("allow"))))
            .collect(),
        twice: skip.map(String::from).collect(),
    }
}

/// A dependency as `cargo tree` lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    /// None for cargo's own registry.
    source: Option<String>,
    licence: String,
}

/// Parses a line such as `libc v0.2.180|MIT OR Apache-2.0`; none for a crate of the workspace.
fn package(line: &str) -> Option<Package> {
    let (what, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let what = what.replace(" (proc-macro)", "");
    let (name, rest) = what.split_once(" v")?;
    let (version, source) = rest.split_once(" (").map_or((rest, None), |(version, source)| (version, Some(source)));
    let source = source.map(|source| source.trim_end_matches(')').to_string());
    let own = name.starts_with("tare") && source.as_ref().is_some_and(|source| source.starts_with('/'));
    (!own).then(|| Package { name: name.into(), version: version.into(), source, licence: licence.into() })
}

/// Dependencies that are not allowed, one per line.
fn judge(packages: &BTreeSet<Package>, allowed: &Allowed) -> Vec<String> {
    let mut found = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Package { name, version, source, licence } in packages {
        if let Some(source) = source {
            found.push(format!("{name} {version} comes from {source}"));
        }
        let own = allowed.exceptions.get(name);
        let may = |id: &str| allowed.licences.iter().chain(own.into_iter().flatten()).any(|known| known == id);
        let fits = Expression::parse_mode(licence, ParseMode::LAX)
            .is_ok_and(|parsed| parsed.evaluate(|wanted| may(&wanted.to_string())));
        if !fits {
            found.push(format!("{name} {version}: deny.toml does not allow its licence {licence:?}"));
        }
        versions.entry(name).or_default().push(version);
    }
    for (name, versions) in versions {
        if versions.len() > 1 && !allowed.twice.iter().any(|twice| twice == name) {
            found.push(format!("{name} has several versions: {}", versions.join(" and ")));
        }
    }
    found
}

#[test]
fn every_dependency_may_be_here() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Only what is built, without entries of Cargo.lock for disabled features.
    let requested = ["tree", "--workspace", "--locked", "--edges=normal,build", "--prefix=none", "--format={p}|{l}"];
    let Ok(output) = Command::new(env!("CARGO")).args(requested).current_dir(&top).output() else {
        println!("cargo cannot be run by this user: licences are not checked here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages: BTreeSet<_> = String::from_utf8(output.stdout).unwrap().lines().filter_map(package).collect();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let found = judge(&packages, &allowed(&top));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_strange_licence_source_or_second_version_is_found() {
    let lines = [
        "good v1.0.0 (proc-macro)|MIT/Apache-2.0 (*)",
        "own v1.0.0|CDDL-1.0",
        "strange v1.0.0|GPL-3.0-only AND MIT",
        "far v1.0.0 (https://example.org/far#1)|MIT",
        "tare-text v0.1.0 (/somewhere/text)|MIT",
        "twice v1.0.0|MIT",
        "twice v2.0.0|MIT",
        "syn v1.0.0|MIT",
        "syn v2.0.0|MIT",
    ];
    let packages: BTreeSet<_> = lines.iter().filter_map(|line| package(line)).collect();
    assert_eq!(packages.len(), lines.len() - 1);
    let allowed = Allowed {
        licences: vec!["MIT".into()],
        exceptions: BTreeMap::from([("own".into(), vec!["CDDL-1.0".into()])]),
        twice: vec!["syn".into()],
    };
    let found = judge(&packages, &allowed);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("far") && found[1].contains("strange") && found[2].contains("twice"), "{found:?}");
}
