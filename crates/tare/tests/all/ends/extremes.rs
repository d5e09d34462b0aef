//! Requests with extreme values: each is answered, or refused with the limit, without a panic, a hang or an abort.

use crate::engines::support::binary_of;
use crate::support::{World, json, one_line, text, trials};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Engine, Mariadb, Postgresql, Sqlite};

const STUDY: &str = "name = \"extreme\"\n[workload]\nrows = 20\n[sampling]\ntrials = 1\nwarmup_s = 0\nsample_s = 0.05\n\
                     steal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n";

#[test]
fn an_output_directory_may_have_a_name_that_is_not_utf_8() {
    let world = World::new();
    let study = world.study(STUDY);
    let out = OsStr::from_bytes(b"r\xffsults");
    let with = |args: &[&OsStr]| world.tare(&[]).args(args).output().unwrap();
    let run = with(&["run".as_ref(), study.as_ref(), "--out".as_ref(), out]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    for command in ["show", "report", "repair"] {
        let done = with(&[command.as_ref(), out]);
        assert_eq!(done.status.code(), Some(0), "{command}: {}", text(&done.stderr));
    }
    assert!(world.path("").join(out).join("report.html").is_file());
    let resumed = with(&["run".as_ref(), "--resume".as_ref(), out]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    let wrong = with(&["run".as_ref(), out]);
    let err = text(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && err.contains("not UTF-8: \"r\\xFFsults\""), "{err}");
    // Nor may a name that looks like an option be one for the trials.
    world.exits(0, &["run", &study, "--out=--json"]);
    assert!(world.path("--json/report.html").is_file());
    world.assert_clean();
}

#[test]
fn the_largest_and_smallest_numbers_are_shown_drawn_and_compared() {
    let world = World::new();
    let values = ["1.7976931348623157e308", "1.6e308", "5e-324", "1e-310", "1", "-1e308", "0"];
    for (number, metric) in ["tps", "latency_ms_p99", "full_read_ns", "anything"].into_iter().enumerate() {
        let mut csv = "condition,trial,sample,metric,value\n".to_owned();
        for (condition, levels) in ["threads=1", "threads=2", "threads=4"].into_iter().enumerate() {
            for trial in 0..8 {
                let value = values[(trial * (number + 1) + condition) % (values.len() - 2 * (number % 2))];
                writeln!(csv, "{levels},{trial},0,{metric},{value}").unwrap();
            }
        }
        std::fs::write(world.path("x.csv"), &csv).unwrap();
        for args in [
            ["show", "x.csv"].as_slice(),
            &["show", "x.csv", "--json"],
            &["report", "x.csv"],
            &["compare", "x.csv", "x.csv"],
            &["compare", "x.csv:threads=1", "x.csv:threads=4", "--json"],
        ] {
            let output = world.output(args);
            let (code, err) = (output.status.code(), text(&output.stderr));
            assert!(matches!(code, Some(0 | 2)) && !err.contains("panicked"), "{args:?} {code:?}: {err}\n{csv}");
        }
        // A picture must not contain values that are not numbers.
        if let Ok(page) = std::fs::read_to_string(world.path("x.html")) {
            for bad in ["=\"NaN", "=\"inf", "MNaN", "Minf", " NaN", "NaN,"] {
                assert!(!page.contains(bad), "{metric}: {bad} in the page");
            }
        }
    }
}

#[test]
fn absurd_numbers_of_threads_and_trials_are_refused_with_the_limit() {
    let world = World::new();
    let began = Instant::now();
    for threads in ["65537", "100000000", "18446744073709551615"] {
        let (_, err) = world.exits(2, &["load", "point_select", "--socket", "none", "--threads", threads]);
        assert!(err.contains("65536"), "{err}");
        let (_, err) = world.exits(2, &["run", "--dry-run", "--set", &format!("workload.threads={threads}")]);
        assert!(err.contains("65536"), "{err}");
    }
    world.exits(3, &["load", "point_select", "--socket", "none", "--threads", "65536"]);
    let (_, err) = world.exits(2, &["run", "--dry-run", "--set", "sampling.trials=100000"]);
    assert!(err.contains("trials: at most 250000"), "{err}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

/// `benches/limits` measures the times: each command must end within two seconds.
#[test]
fn a_hundred_thousand_conditions_and_samples_are_answered_or_refused_with_the_limit() {
    const MANY: usize = 100_000;
    let world = World::new();
    let levels = (1..=MANY).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let listed: String = (1..=MANY).map(|n| format!("[[conditions]]\nrows = {n}\n")).collect();
    for conditions in [format!("[factors]\nrows = [{levels}]\n"), listed] {
        let (_, err) = world.exits(2, &["run", &world.study(&format!("{STUDY}{conditions}")), "--dry-run"]);
        assert!(err.contains("100000 conditions") && err.contains("at most 5000"), "{err}");
    }
    let rows: String = (0..MANY).map(|n| format!("rows={n},0,0,tps,{n}\n")).collect();
    std::fs::write(world.path("x.csv"), format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
    let (_, err) = world.exits(2, &["show", "x.csv"]);
    assert!(err.contains("more than 5000 conditions") && err.contains("at most 5000"), "{err}");
    world.exits(0, &["run", &world.study(STUDY), "--out", "results"]);
    let records = world.path("results/trials.jsonl");
    let mut record = trials(&world.path("results")).remove(0);
    let mut sample = record["samples"][0].clone();
    (sample["threads"], sample["covariates"], sample["histograms"]) = (json("[]"), json("{}"), json("{}"));
    sample["metrics"] = serde_json::json!({ "tps": sample["metrics"]["tps"] });
    let samples = (0..MANY).map(|n| {
        sample["sample"] = n.into();
        sample.clone()
    });
    record["samples"] = samples.collect::<Vec<_>>().into();
    std::fs::write(&records, format!("{record}\n")).unwrap();
    let (_, err) = world.exits(0, &["show", "results"]);
    assert!(!err.contains("set aside"), "{err}");
    // An overlong line is reported and does not prevent anything.
    std::fs::write(&records, format!("{{\"schema\":2,\"x\":\"{}\"}}\n", "x".repeat(65 << 20))).unwrap();
    let (_, err) = world.exits(0, &["show", "results"]);
    assert!(err.contains("line 1 of ") && err.contains("set aside"), "{err}");
}

#[test]
fn pipes_and_links_in_place_of_files_do_not_block_commands() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results"]);
    let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let quick = |args: &[&str]| {
        let began = Instant::now();
        let output = world.tare(args).stdin(Stdio::null()).output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{args:?} took {:?}", began.elapsed());
        (output.status.code(), text(&output.stderr))
    };
    // The record's author chooses the path of a capture as well.
    let records = world.path("results/trials.jsonl");
    let good = std::fs::read_to_string(&records).unwrap();
    std::fs::create_dir(world.path("results/captures")).unwrap();
    fifo(&world.path("results/captures/pipe"));
    std::fs::write(world.path("secret"), "{\"schema\":2}").unwrap();
    std::os::unix::fs::symlink(world.path("secret"), world.path("results/captures/link")).unwrap();
    for (capture, says) in [("captures/pipe", "is not a regular file"), ("captures/link", "symbolic link")] {
        let named = good.replacen("\"captures\":{}", &format!("\"captures\":{{\"locks\":\"{capture}\"}}"), 1);
        assert_ne!(named, good);
        std::fs::write(&records, named).unwrap();
        let output = world.output(&["show", "results"]);
        let printed = one_line(&text(&output.stdout));
        assert!(output.status.code() == Some(0) && printed.contains(says), "{printed}");
    }
    fifo(&world.path("fifo"));
    for args in [["show", "fifo"].as_slice(), &["report", "fifo"], &["run", "fifo", "--dry-run"]] {
        let (code, err) = quick(args);
        assert_eq!(code, Some(2), "{args:?}: {err}");
    }
    let (code, err) = quick(&["run", "/dev/zero", "--dry-run"]);
    assert!(code == Some(2) && err.contains("larger than"), "{err}");
    // A study from a process substitution, which a shell passes as a pipe.
    let shell = format!("'{}' run <(cat '{study}') --dry-run --json", env!("CARGO_BIN_EXE_tare"));
    let piped = Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert_eq!(piped.status.code(), Some(0), "{}", text(&piped.stderr));
    assert_eq!(json(&text(&piped.stdout))["trials"], 1);
}

/// Installers are shell scripts, which split words at spaces.
fn a_cache_with_a_space(engine: &dyn Engine) {
    let world = World::new();
    let study = world.study(STUDY);
    let cache = world.path("a cache with 'quotes\" and $paces");
    std::fs::create_dir(&cache).unwrap();
    let binary = binary_of(engine).map(|path| format!("engine.binary={}", path.display()));
    let mut args = vec!["run", &study, "--out", "results", "--engine", engine.name()];
    args.extend(binary.iter().flat_map(|set| ["--set", set.as_str()]));
    let output = world.tare(&args).env("TARE_CACHE_DIR", &cache).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let records = trials(&world.path("results"));
    assert!(records.len() == 1 && records[0]["outcome"] == "ok", "{records:?}");
    assert!(std::fs::read_dir(&cache).unwrap().count() > 0, "the data were prepared elsewhere");
    world.assert_clean();
}

#[test]
fn a_cache_path_with_a_space_works_for_the_embedded_engine() {
    a_cache_with_a_space(&Sqlite);
}

#[test]
fn a_cache_path_with_a_space_works_for_mariadb() {
    a_cache_with_a_space(&Mariadb);
}

#[test]
fn a_cache_path_with_a_space_works_for_postgresql() {
    a_cache_with_a_space(&Postgresql);
}
