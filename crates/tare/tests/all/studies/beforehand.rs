//! Output before anything runs: how much, how long, what is not possible here; and refusals at that point.

use crate::support::World;
use std::fs::File;

#[test]
fn a_run_of_hours_needs_confirmation_and_suggests_a_shorter_one() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "single-thread-stability", "--out", "results"]);
    let first = err.lines().next().unwrap();
    assert!(first.starts_with("single-thread-stability: 8 conditions, 80 trials of 10 samples; about "), "{err}");
    assert!(first.contains(" h ") && first.contains(" if disturbed; needs about "), "{err}");
    assert!(err.contains("add --yes") && err.contains("with --quick"), "{err}");
    assert!(!world.path("results").exists(), "nothing was started");
}

#[test]
fn a_plan_of_hundreds_of_conditions_fits_one_screen_and_begins_with_the_time() {
    let world = World::new();
    let (out, _) = world.exits(0, &["run", "numa-scaling", "--dry-run", "--topology", "node:4 core:32 pu:2"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("study numa-scaling: ") && lines[0].contains("; about "), "{out}");
    assert!(lines.len() < 60, "{} lines\n{out}", lines.len());
    assert!(out.contains("\nfactors\n") && out.contains("  threads       1, 2, 4"), "{out}");
    assert!(out.contains("\nleft out on the described machine:\n"), "{out}");
    assert!(out.contains("  nodes=8 (110 conditions): 8 nodes are requested"), "{out}");
    let (_, err) = world.exits(3, &["run", "numa-scaling", "--dry-run", "--topology", "node:1 core:1 pu:1"]);
    assert!(err.lines().count() < 10, "{err}");
}

#[test]
fn an_unusable_folder_is_reported_before_waiting_for_the_machine() {
    let world = World::new();
    // Another run has the machine.
    let lock = File::create(world.path("lock/tare-host.lock")).unwrap();
    lock.lock().unwrap();
    std::fs::create_dir(world.path("full")).unwrap();
    std::fs::write(world.path("full/other"), "").unwrap();
    let (_, err) = world.exits(2, &["run", "first-look", "--quick", "--out", "full"]);
    assert!(err.contains("not empty"), "{err}");
    let others: [&[&str]; 2] =
        [&["ab", "--a", "command=true", "--b", "command=false"], &["find", "command=true", "command=false"]];
    for command in others {
        let (_, err) = world.exits(2, &[command, &["--out", "full"]].concat());
        assert!(err.contains("not empty"), "{err}");
    }
    let (_, err) = world.exits(2, &["run", "--resume", "full"]);
    assert!(err.contains("study.toml"), "{err}");
    let taken = world.output(&["run", "first-look", "--quick", "--out", "free"]);
    assert_ne!(taken.status.code(), Some(0), "the lock that this test holds is that of runs");
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_keys_only() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "--dry-run", "--set", "sampling.trails=3"]);
    assert!(err.contains("such as trials") && err.contains("tare studies --keys"), "{err}");
    assert!(!err.contains("foreign_cpu_limit"), "{err}");
}
