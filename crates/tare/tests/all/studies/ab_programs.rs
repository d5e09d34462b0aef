//! `tare ab` and `tare find`: the study that commands are measured on, and programs that are replaced.

use crate::support::{QUIET, World, json};
use std::path::Path;

/// A copy of sleep(1), whose content `also` changes.
fn sleep_at(path: &Path, also: &str) {
    let mut program = std::fs::read("/bin/sleep").unwrap();
    program.extend(also.bytes());
    // The file may be one that still runs.
    let new = path.with_extension("new");
    std::fs::write(&new, program).unwrap();
    std::fs::set_permissions(&new, std::fs::metadata("/bin/sleep").unwrap().permissions()).unwrap();
    std::fs::rename(new, path).unwrap();
}

#[test]
fn pairs_of_two_programs_of_a_side_do_not_add_up_to_a_verdict() {
    let world = World::new();
    let program = world.path("bench");
    sleep_at(&program, "");
    let (a, b) = ("command=sleep 0.02", format!("command={} 0.20", program.display()));
    let words = ["ab", "--json", "--out", "r", "--a", a, "--b", &b, "--sessions", "5", "--budget", "10s"];
    world.exits(5, &[&words[..], &QUIET].concat());
    sleep_at(&program, "another build");
    let (out, _) = world.exits(5, &["ab", "--resume", "r", "--json"]);
    let found = json(&out);
    assert_eq!((&found["verdict"], &found["stopped"]), (&"undecided".into(), &"replaced".into()), "{found}");
    let text = found["text"].as_str().unwrap();
    assert!(text.starts_with("No verdict after ") && text.contains("the program of B was replaced"), "{text}");
    // It stays so, and no pair is added.
    let (out, err) = world.exits(5, &["ab", "--resume", "r", "--json"]);
    assert_eq!(json(&out)["pairs"], found["pairs"], "{err}");
}

#[test]
fn commands_are_measured_on_the_named_study() {
    let world = World::new();
    let study = "name = \"s\"\n[workload]\nname = \"command\"\ncommand = \"true\"\n[sampling]\n\
                 samples = 2\nwarmup_s = 0\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n[decide]\n\
                 a = \"command=sleep 0.02\"\nb = \"command=sleep 0.03\"\n";
    std::fs::write(world.path("s.toml"), study).unwrap();
    // One side of its own, and both.
    for (sides, names) in [
        (&["--b", "command=sleep 0.2"][..], ["sleep 0.02", "sleep 0.2"]),
        (&["--a", "command=sleep 0.01", "--b", "command=sleep 0.2"], ["sleep 0.01", "sleep 0.2"]),
    ] {
        let (out, err) = world.exits(0, &[&["ab", "--study", "s.toml", "--dry-run", "--json"], sides].concat());
        let found = json(&out);
        let commands: Vec<&str> = found["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|condition| condition["levels"]["command"].as_str().unwrap())
            .collect();
        assert_eq!(commands, names, "{err}");
        // Two samples of each trial.
        assert_eq!(found["samples"], 4, "{found}");
    }
    let candidates = ["command=sleep 0.01", "command=sleep 0.02"];
    let (out, _) = world.exits(0, &[&["find", "--study", "s.toml", "--dry-run", "--json"], &candidates[..]].concat());
    let found = json(&out);
    assert_eq!(found["samples"].as_u64(), found["trials"].as_u64().map(|trials| 2 * trials), "{found}");
    let of_a_server = ["--study", "side-by-side", "--a", "command=true", "--b", "command=true", "--dry-run"];
    let (_, err) = world.exits(2, &[&["ab"], &of_a_server[..]].concat());
    assert!(err.contains("the study measures a server, and not a command"), "{err}");
    let (_, err) = world.exits(2, &[&["find", "--study", "side-by-side", "--dry-run"], &candidates[..]].concat());
    assert!(err.contains("the study measures a server, and not a command"), "{err}");
}
