//! The reference pages agree with the program: keys from its own table, exit codes from its own type.

use crate::support::World;
use std::path::{Path, PathBuf};
use tare::cli::Exit;

/// If this variable is set, the tests write the pages instead of comparing them.
const UPDATE: &str = "TARE_UPDATE_DOCS";

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_page_of_study_keys_is_what_the_program_prints() {
    let (keys, _) = World::new().exits(0, &["studies", "--keys"]);
    let expected = format!(
        "# Keys of a study\n\nLook up what each key of a study file does, as `tare studies --keys` prints it. Made by \
         `{UPDATE}=1 cargo nextest run -p tare shipped::reference`; a test compares it.\n\n```text\n{keys}```\n"
    );
    let path = page("study-keys.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/study-keys.md is not current: {UPDATE}=1 cargo nextest run -p tare shipped::reference"
    );
}

#[test]
fn every_exit_code_is_explained_in_help_and_in_the_reference() {
    let text = std::fs::read_to_string(page("reference.md")).unwrap();
    let (help, _) = World::new().exits(0, &["--help"]);
    let help = help.split("Exit codes:").nth(1).unwrap();
    let all = [
        Exit::Done,
        Exit::GateFailed,
        Exit::Usage,
        Exit::Machine,
        Exit::TrialFailed,
        Exit::Inconclusive,
        Exit::Interrupted,
    ];
    for exit in all {
        let code = exit as u8;
        assert!(text.contains(&format!("\n| {code} | ")), "docs/reference.md does not explain {code}");
        assert!(help.contains(&format!("{code} ")), "help does not explain {code}");
    }
}

/// A release changes the version in all of these places.
#[test]
fn the_version_is_the_same_wherever_it_is_written() {
    let version = env!("CARGO_PKG_VERSION");
    let top = |name: &str| std::fs::read_to_string(page("..").join(name)).unwrap();
    let manifest = top("Cargo.toml");
    let libraries: Vec<&str> = manifest.lines().filter(|line| line.contains("path = \"crates/")).collect();
    let with_version = libraries.iter().filter(|line| line.contains("version = "));
    for line in with_version.clone() {
        assert!(line.contains(&format!("version = \"{version}\"")), "{line}");
    }
    assert!(with_version.count() > 10, "{libraries:?}");
    assert!(top("CITATION.cff").contains(&format!("\nversion: {version}\n")), "CITATION.cff");
    let changelog = top("CHANGELOG.md");
    let released = changelog.lines().filter_map(|line| line.strip_prefix("## ")).find(|head| *head != "Unreleased");
    assert_eq!(released, Some(version), "the newest heading of CHANGELOG.md");
    for kind in ["Added", "Changed", "Fixed"] {
        let newest = changelog.split("\n## ").find(|section| section.starts_with(version)).unwrap();
        assert_eq!(newest.matches(&format!("\n### {kind}\n")).count(), 1, "{kind}");
    }
    let world = World::new();
    std::fs::create_dir(world.path("pages")).unwrap();
    world.exits(0, &["man", "pages"]);
    let man = std::fs::read_to_string(world.path("pages/tare.1")).unwrap();
    assert!(man.contains(&format!("tare {version}")), "{man:.300}");
    assert_eq!(world.exits(0, &["--version"]).0.trim(), format!("tare {version}"));
}
