//! A full disk stops the run without a failed trial; damaged records are repaired.

use crate::support::{QUIET, World, text, trials};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const STUDY: &str = "name = \"full\"\n[workload]\nrows = 3000\n[sampling]\ntrials = 3\nattempts = 1\nwarmup_s = 0\n\
                     sample_s = 0.05\n";

#[test]
fn a_trial_that_finds_the_disk_full_uses_up_no_attempt() {
    let world = World::new();
    let study = world.study(STUDY);
    // The cache has room for the prepared data, but not for a trial's copy of it.
    let script = r#"set -eu
        mkdir big small && mount -t tmpfs none big || exit 77
        TARE_CACHE_DIR=$PWD/big/cache "$0" run "$1" --out first --set sampling.trials=1 $2
        mount -t tmpfs -o size=64m none small
        cp -a big/cache small/cache
        room=$(df -k --output=avail small | tail -1) need=$(du -sk big/cache | cut -f1)
        head -c "$(( (room - need / 2) * 1024 ))" /dev/zero >small/filler
        code=0; TARE_CACHE_DIR=$PWD/small/cache "$0" run "$1" --out results $2 2>err || code=$?
        cat err >&2; test $code = 3; grep -q -- '--resume' err
        grep -Eq 'small/cache/work-.*: the copy of the data needs .*[0-9]+ bytes.*, and .*[0-9]+ bytes.* are free' err
        test ! -e results/trials.jsonl; test -z "$(ls -d small/cache/work-* | grep -v lock || true)"
        rm small/filler
        TARE_CACHE_DIR=$PWD/small/cache "$0" run --resume results"#;
    let script = script.replace("$2", &QUIET.join(" "));
    let mut shell = world.behind(&["unshare", "-rm", "sh", "-c", &script], &[&study]);
    let output = shell.output().expect("unshare (Debian package util-linux)");
    let err = text(&output.stderr);
    assert_ne!(output.status.code(), Some(77), "no mount in a user name space of our own: {err}");
    assert_eq!(output.status.code(), Some(0), "{err}");
    let records = trials(&world.path("results"));
    assert!(records.len() == 3 && records.iter().all(|r| r["outcome"] == "ok" && r["attempt"] == 1), "{records:?}");
    world.assert_clean();
}

/// The disk is a file below which the room runs out: the file system accepts writes and loses them later. Its prepared
/// data are intact.
#[test]
fn a_copy_whose_writes_did_not_reach_the_disk_is_named_and_made_again() {
    if !rustix::process::geteuid().is_root() {
        return; // only root can mount such a disk
    }
    let world = World::new();
    let study = world.study(&STUDY.replace("rows = 3000", "rows = 20000"));
    let script = r#"set -eu
        mkdir below disk && mount -t tmpfs -o size=64m none below
        truncate -s 200m below/image
        mkfs.ext4 -q -F -N 512 -m 0 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard below/image
        mount -o loop below/image disk || exit 77
        export TARE_CACHE_DIR=$PWD/disk/cache
        "$0" run "$1" --out first --set sampling.trials=1 $2
        # The blocks that the run has freed are given back now, and not some time after the room is measured.
        sync; fstrim disk
        room=$(df -k --output=avail below | tail -1)
        head -c "$(( (room - 300) * 1024 ))" /dev/zero >below/filler
        code=0; "$0" run "$1" --out results $2 2>err || code=$?
        cat err >&2; test $code = 3; test ! -e results/trials.jsonl
        # The kernel may make the file system read-only before the next trial.
        grep -Eq 'disk/cache/work-.*: (Input/output error|Read-only file system)' err
        grep -q 'do now: .*, then: tare run --resume results' err
        rm below/filler; umount disk; mount -o loop below/image disk
        "$0" run --resume results"#;
    let script = script.replace("$2", &QUIET.join(" "));
    let output = world.behind(&["unshare", "-m", "sh", "-c", &script], &[&study]).output().expect("unshare");
    let err = text(&output.stderr);
    if output.status.code() == Some(77) {
        return println!("no loop device here: {err}");
    }
    assert_eq!(output.status.code(), Some(0), "{err}");
    let records = trials(&world.path("results"));
    assert!(records.len() == 3 && records.iter().all(|r| r["outcome"] == "ok" && r["attempt"] == 1), "{records:?}");
}

#[test]
fn a_cache_disk_that_becomes_full_at_any_step_of_preparing_data_is_named() {
    let world = World::new();
    let study = world.study(STUDY);
    // From no room for an empty database on: the server's start, the fill and its shutdown fail in turn.
    let script = r#"set -eu
        mkdir small
        for size in $(seq 8 4 200); do
            mount -t tmpfs -o size=${size}k none small || exit 77
            code=0; TARE_CACHE_DIR=$PWD/small/cache "$0" run "$1" --out results-$size $2 2>err || code=$?
            umount small
            [ $code != 0 ] || break
            cat err >&2; test $code = 3
            grep -Eq 'no space left on the file system of .*small/cache' err
            grep -Eq 'do now: free disk space|--resume' err
        done
        test $code = 0; test $size -gt 60"#;
    let script = script.replace("$2", "--set workload.rows=10 --set sampling.trials=1");
    let output = world.behind(&["unshare", "-rm", "sh", "-c", &script], &[&study]).output().expect("unshare");
    let err = text(&output.stderr);
    assert_ne!(output.status.code(), Some(77), "no mount in a user name space of our own: {err}");
    assert_eq!(output.status.code(), Some(0), "{err}");
    world.assert_clean();
}

#[test]
fn too_little_disk_space_for_the_results_is_reported_before_the_start() {
    let world = World::new();
    let study = world.study(STUDY);
    let script = r#"set -eu
        mkdir small && mount -t tmpfs -o size=200k none small || exit 77
        code=0; "$0" run "$1" --out small/results 2>err || code=$?
        cat err >&2; test $code = 3; test ! -e small/results"#;
    let output = world.behind(&["unshare", "-rm", "sh", "-c", script], &[&study]).output().expect("unshare");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("the results need about 424 kB of disk, and small/results has 204 kB left"), "{err}");
    assert!(err.contains("choose another disk with --out"), "{err}");
}

/// A folder that no trial can use is no failure of a trial, which `--resume` would not repeat.
#[test]
fn a_folder_for_sockets_that_cannot_be_used_stops_the_run_which_can_be_resumed() {
    let world = World::new();
    let study = world.study(STUDY);
    let long = world.path(&"d".repeat(100));
    let other = world.path("").join(OsStr::from_bytes(b"\xff"));
    for made in [&long, &other] {
        std::fs::create_dir(made).unwrap();
    }
    let run = |words: &[&str], place: &Path| {
        let output = world.tare(words).env_remove("XDG_RUNTIME_DIR").env("TMPDIR", place).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    // Data is prepared with a server too: in the first run.
    for results in ["first", "results"] {
        let (code, err) = run(&["run", &study, "--out", results], &world.path("missing"));
        assert_eq!(code, Some(3), "{err}");
        assert_eq!(err.contains("cannot prepare the data"), results == "first", "{err}");
        assert!(err.contains("TMPDIR") && err.contains(&format!("tare run --resume {results}")), "{err}");
        if results == "first" {
            world.exits(0, &["run", "--resume", results]);
        }
    }
    for place in [&PathBuf::from(&study), &long, &other] {
        let (code, err) = run(&["run", "--resume", "results"], place);
        assert_eq!(code, Some(3), "{err}");
        assert!(!world.path("results/trials.jsonl").exists(), "{err}");
    }
    let (code, err) = run(&["run", "--resume", "results"], &std::env::temp_dir());
    assert_eq!(code, Some(0), "{err}");
    let records = trials(&world.path("results"));
    assert!(records.len() == 3 && records.iter().all(|r| r["outcome"] == "ok" && r["attempt"] == 1), "{records:?}");
    let mut elsewhere = world.tare(&["run", &study, "--out", "none"]);
    let err = text(&elsewhere.env("TARE_CACHE_DIR", &other).output().unwrap().stderr);
    assert!(err.contains("is not UTF-8: set TARE_CACHE_DIR") && !world.path("none").exists(), "{err}");
    world.assert_clean();
}

#[test]
fn repair_moves_damaged_lines_to_a_separate_file() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results"]);
    let path = world.path("results/trials.jsonl");
    let good = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    std::fs::write(&path, [lines[0], "\u{1b}[31mgarbage", lines[1], lines[2], "{\"schema\":1,\"tri"].join("\n"))
        .unwrap();
    let (out, _) = world.exits(0, &["repair", "results"]);
    assert!(out.contains("line 2") && out.contains("line 5") && !out.contains('\u{1b}'), "{out}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), good);
    let aside = std::fs::read_to_string(world.path("results/trials.jsonl.damaged")).unwrap();
    assert_eq!(aside, "\u{1b}[31mgarbage\n{\"schema\":1,\"tri\n");
    let (out, _) = world.exits(0, &["repair", "results", "--json"]);
    assert_eq!(crate::support::json(&out)["set_aside"].as_array().unwrap().len(), 0);
    let (_, err) = world.exits(0, &["show", "results"]);
    assert!(!err.contains("damaged"), "{err}");
}
