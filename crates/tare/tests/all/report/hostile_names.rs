//! Foreign names with sequences for terminals, CI logs and file formats must appear as one line of plain text.

use crate::support::World;
use std::fmt::Write as _;
use std::process::Command;

/// Conditions and metrics, including characters that XML does not allow.
const NAMES: [(&str, &str); 4] = [
    ("a\n::stop-commands::x", "tps"),
    ("b\u{1}\u{b}\u{2028}\u{85}", "tps\n::stop-commands::y"),
    ("::stop-commands::z\u{fffe}", "lat\u{1b}[31mency"),
    ("##vso[task.setvariable variable=x]y", "tps"),
];

#[test]
fn a_hostile_name_in_results_cannot_control_a_terminal_or_ci_system() {
    let world = World::new();
    let mut csv = "condition,trial,sample,metric,value\n".to_owned();
    for (condition, metric) in NAMES {
        for (trial, metric) in (0..6).flat_map(|trial| [(trial, metric), (trial, "tps2")]) {
            writeln!(csv, "\"{condition}\",{trial},0,\"{metric}\",{}", 100 + trial).unwrap();
        }
    }
    std::fs::write(world.path("x.csv"), &csv).unwrap();
    std::fs::write(world.path("twice.csv"), format!("{csv}\"a\n::stop-commands::x\",0,0,tps,1\n")).unwrap();
    let exports = ["csv", "svg", "latex", "markdown", "junit", "benchstat", "bmf", "otava", "openmetrics"];
    let exports = exports.map(|format| vec!["export", "--format", format, "x.csv"]);
    let others = [
        vec!["show", "x.csv"],
        vec!["show", "x.csv", "--json"],
        vec!["show", "twice.csv"],
        vec!["compare", "x.csv", "x.csv"],
        vec!["compare", "x.csv:a", "x.csv:b"],
    ];
    for args in exports.into_iter().chain(others) {
        let output = world.output(&args);
        for written in [&output.stdout, &output.stderr] {
            let written = std::str::from_utf8(written).unwrap();
            for line in written.lines() {
                assert!(!line.trim_start().starts_with("::stop-commands"), "{args:?}: {written}");
            }
            let steers = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{fffe}');
            assert!(!written.contains(steers) && !written.contains("##vso["), "{args:?}: {written:?}");
        }
    }
}

/// All output without colours uses one function: a machine's processor name stands for all other foreign names.
#[test]
fn a_foreign_machine_description_cannot_control_the_terminal() {
    let world = World::new();
    let xml = world.path("machine.xml");
    let made = Command::new("lstopo").args(["--force", "-i", "package:1 pu:2"]).arg(&xml).status();
    assert!(made.expect("lstopo is missing: sudo apt-get install hwloc").success());
    let text = std::fs::read_to_string(&xml).unwrap();
    let package = text.find("type=\"Package\"").unwrap();
    let (before, after) = text.split_at(package + text[package..].find('>').unwrap() + 1);
    let model = "<info name=\"CPUModel\" value=\"evil\u{1b}[31m\u{7} ::stop-commands::x\"/>";
    std::fs::write(&xml, format!("{before}{model}{after}")).unwrap();
    let (out, _) = world.exits(0, &["topo", "--topology", "machine.xml"]);
    assert!(out.contains("evil\\u{1b}[31m\\u{7}") && !out.contains("::stop"), "{out:?}");
}

/// A shell expands patterns to file names, and a name that begins with `--` is taken for an unknown option.
#[test]
fn a_hostile_file_name_taken_for_an_option_cannot_control_the_terminal() {
    let world = World::new();
    for coloured in ["0", "1"] {
        let mut tare = world.tare(&["show", "--\u{1b}]0;evil\u{7}\u{202e}\n::stop-commands::x"]);
        // As on a terminal.
        let output = tare.env("CLICOLOR_FORCE", coloured).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && err.contains("unexpected argument"), "{err:?}");
        assert!(!err.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{err:?}");
        assert!(!err.lines().any(|line| line.trim_start().starts_with("::stop")), "{err:?}");
    }
}
