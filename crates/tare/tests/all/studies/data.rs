//! Trials begin with the prepared content, and almost nothing is copied for it.

use crate::support::{World, kill_at_once, names, trials, wait_for_trials};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn study(world: &World, engine: &str, workload: &str, rows: usize, trials: usize) -> String {
    world.study(&format!(
        "name = \"data\"\n[engine]\nname = \"{engine}\"\n[workload]\nname = \"{workload}\"\nrows = {rows}\n\
         [sampling]\ntrials = {trials}\nwarmup_s = 0\nsample_s = 0.3\n"
    ))
}

/// Copied bytes as a fraction of full copies, without the first trial: its copy is made at the start of the run.
fn copied_fraction(results: &Path) -> f64 {
    let records = trials(results);
    let of = |key: &str| records.iter().map(|record| record["data"][key].as_f64().unwrap()).sum::<f64>();
    assert!(records.iter().all(|record| record["outcome"] == "ok"), "{records:?}");
    of("bytes_copied") / of("bytes")
}

/// Checksums of all files of a data directory.
fn checksums(data: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", "cd \"$1\" && find . -type f | LC_ALL=C sort | xargs sha1sum", "sh"])
        .arg(data)
        .output()
        .unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    crate::support::text(&output.stdout)
}

/// The prepared directory and the working copy of the only data set of a world.
fn both(world: &World) -> (PathBuf, PathBuf) {
    let cache = world.path("cache");
    let find = |prefix: &str| {
        let found = |n: &String| n.starts_with(prefix) && cache.join(n).join("data").is_dir();
        cache.join(names(&cache).into_iter().find(found).unwrap_or_else(|| panic!("no {prefix}"))).join("data")
    };
    (find("mariadb-"), find("work-"))
}

#[test]
fn read_only_trials_of_mariadb_copy_less_than_2_percent_and_leave_no_copy() {
    let world = World::new();
    world.exits(0, &["run", &study(&world, "mariadb", "read_only", 20_000, 4), "--out", "results"]);
    let fraction = copied_fraction(&world.path("results"));
    assert!(
        fraction < 0.02,
        "{fraction}: {:?}",
        trials(&world.path("results")).iter().map(|r| &r["data"]).collect::<Vec<_>>()
    );
    world.assert_clean();
    let left: Vec<String> = names(&world.path("cache")).into_iter().filter(|n| n.starts_with("work-")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_trial_of_a_killed_run_leaves_no_data_that_a_later_trial_uses() {
    // On a busy machine one look at both logs takes about as long as a trial.
    const TRIALS: usize = 8;
    let world = World::new();
    let study = study(&world, "mariadb", "read_write", 2000, TRIALS);
    let results = world.path("results");
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    wait_for_trials(&results, 1);
    let (prepared, working) = both(&world);
    let log = |data: &Path| std::fs::read(data.join("ib_logfile0")).unwrap();
    // They also differ while the data is copied or restored, so the same server must run before and after the check.
    let server = || {
        let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        world.processes().into_iter().find(|pid| name(pid).starts_with("mariadbd"))
    };
    loop {
        let before = server();
        if before.is_some() && log(&prepared) != log(&working) && server() == before {
            break;
        }
        assert!(run.try_wait().unwrap().is_none(), "the run ended before the logs were seen to differ");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_at_once(world.processes());
    run.wait().unwrap();
    assert_ne!(checksums(&prepared), checksums(&working));
    // An undetectable change: other content, but the same size and modification time.
    let table = working.join("sbtest/sbtest1.ibd");
    let script = "touch -r \"$1\" \"$2\" && printf changed | dd of=\"$1\" bs=1 seek=65536 conv=notrunc status=none && touch -r \"$2\" \"$1\"";
    let done = Command::new("sh").args(["-c", script, "sh"]).arg(&table).arg(world.path("time")).status().unwrap();
    assert!(done.success());
    let copy = tare_engine::WorkingCopy::take(&prepared, &world.path("cache")).unwrap().unwrap();
    assert_eq!(checksums(copy.data()), checksums(&prepared));
    drop(copy);
    world.exits(0, &["run", "--resume", "results"]);
    assert!(trials(&results).iter().filter(|record| record["outcome"] == "ok").count() == TRIALS);
    world.assert_clean();
}

#[test]
fn filling_tables_is_reported_while_it_lasts_and_cached_tables_are_not() {
    let world = World::new();
    let study = study(&world, "sqlite", "read_only", 20_000, 1);
    let (_, err) = world.exits(0, &["run", &study, "--out", "first"]);
    assert_eq!(err.matches("filling tables: 20000 rows\n").count(), 1, "{err}");
    let (_, err) = world.exits(0, &["run", &study, "--out", "second"]);
    assert!(!err.contains("filling tables"), "{err}");
    // The comparisons report it too.
    let sides = ["--a", "threads=1", "--b", "threads=1", "--set", "workload.rows=30000", "--budget", "1s"];
    let ab = ["ab", "--study", &study, "--out", "third"];
    let output = world.output(&[&ab[..], &sides[..]].concat());
    let err = crate::support::text(&output.stderr);
    assert_eq!(err.matches("filling tables: 30000 rows\n").count(), 1, "{err}");
}

/// XFS in a file: its blocks can be shared on any machine.
#[test]
fn where_files_can_share_blocks_nothing_is_copied() {
    if !rustix::process::geteuid().is_root() {
        println!("not tried: only root may mount");
        return;
    }
    let world = World::new();
    let study = study(&world, "sqlite", "read_write", 20_000, 3);
    let script = r#"set -eu
        PATH=$PATH:/usr/sbin:/sbin
        command -v mkfs.xfs >/dev/null || { echo 'mkfs.xfs is missing; install it with: apt-get install xfsprogs'; exit 1; }
        truncate -s 400M image && mkfs.xfs -q image && mkdir shared
        mount -o loop image shared || exit 77
        mkdir -m 700 shared/cache
        TARE_CACHE_DIR=$PWD/shared/cache exec "$0" run "$1" --out results --set sampling.sample_s=1 \
            --set sampling.steal_limit=off --set sampling.foreign_cpu_limit=off"#;
    let mut shell = world.behind(&["unshare", "--mount", "sh", "-c", script], &[&study]);
    let output = shell.output().expect("unshare (Debian package util-linux)");
    let printed = format!("{}{}", crate::support::text(&output.stdout), crate::support::text(&output.stderr));
    if output.status.code() == Some(77) {
        let kernels = std::fs::read_to_string("/proc/filesystems").unwrap();
        let able = kernels.contains("xfs") && Path::new("/dev/loop-control").exists();
        assert!(!able, "{printed}");
        println!("not tried: no XFS or no loop devices in this kernel: {printed}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let results = world.path("results");
    let data: Vec<serde_json::Value> = trials(&results).iter().map(|record| record["data"].clone()).collect();
    assert!(copied_fraction(&results) == 0.0, "{data:?}");
    // The first trial uses the copy as it was made.
    assert!(data.len() == 3 && data[1..].iter().all(|data| data["copy_method"] == "shared"), "{data:?}");
    world.assert_clean();
}
