//! Where the time of a transaction goes: causes that a study adds are named, and nothing is named without a cause.

use crate::support::{World, json, one_line, send, text};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tare_findings::time::{Part, TrialTime};
use tare_noise::fake;
use tare_results::schema::SampleRecord;

/// Runs a study with this text; returns the document of `tare why` for two of its conditions.
fn why(world: &World, study: &str, a: &str, b: &str) -> Value {
    let study = world.study(study);
    world.exits(0, &["run", &study, "--out", "results"]);
    let side = |name: &str| format!("{}:{name}", world.path("results").display());
    let (out, _) = world.exits(0, &["why", &side(a), &side(b), "--json"]);
    closes(world);
    json(&out)
}

/// In every trial the parts add up to clients / throughput, and no more is unexplained than on a busy machine.
fn closes(world: &World) {
    let results = tare_results::open(&world.path("results")).unwrap();
    let mut seen = 0;
    for trial in results.trials.iter().filter(|trial| !trial.samples.is_empty()) {
        let captures = results.captures.get(&(trial.trial, trial.attempt));
        let found = TrialTime::of(trial, captures).expect("a time of a transaction");
        let sum: f64 = found.parts.values().sum();
        let of = |value: fn(&SampleRecord) -> f64| trial.samples.iter().map(value).sum::<f64>();
        let transactions = of(|sample| sample.metrics["tps"] * sample.elapsed_s);
        let whole = 1e6 * found.clients as f64 * of(|sample| sample.elapsed_s) / transactions;
        assert!(whole > 0.0 && (sum / whole - 1.0).abs() < 1e-6, "{sum} {whole} {found:?}");
        assert!((found.us / whole - 1.0).abs() < 1e-6, "{whole} {found:?}");
        assert!(found.part(&Part::NotExplained).abs() < 0.7 * whole, "{found:?}");
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn time_parts_add_up_to_the_transaction_time_in_every_trial_of_sqlite() {
    adds_up("sqlite", "off");
}

#[test]
fn time_parts_add_up_to_the_transaction_time_in_every_trial_of_mariadb() {
    adds_up("mariadb", "on");
}

#[test]
fn time_parts_add_up_to_the_transaction_time_in_every_trial_of_postgresql() {
    adds_up("postgresql", "off");
}

/// On one engine with the wakers: reading perf's recording takes longer than the trials. Clients and server have a CPU
/// each: where a client and its server thread alternate on one CPU, kernel 6.18 starves everything else there for tens
/// of seconds, perf among it.
fn adds_up(engine: &str, wakes: &str) {
    let world = World::sharing();
    let study = world.study(&format!(
        "name = \"adds-up\"\n[engine]\nname = \"{engine}\"\n[workload]\nname = \"read_only\"\nrows = 1000\n\
         [capture]\nwaits = \"on\"\nwakes = \"{wakes}\"\nevents = \"on\"\nlocks = \"on\"\n[sampling]\ntrials = 1\n\
         attempts = 1\nwarmup_s = 0.05\nsample_s = 0.4\n[placement]\nclient = \"pu:0\"\nserver = \"pu:1\"\n\
         [factors]\nthreads = [1, 3]\n"
    ));
    world.exits(0, &["run", &study, "--out", "results"]);
    closes(&world);
    // The difference for the page and for other tools, and wakers if perf may observe them.
    let side = |threads: u8| format!("results:threads={threads}");
    let (out, _) = world.exits(0, &["why", &side(1), &side(3), "--folded", "both.folded", "--json"]);
    let found = json(&out);
    let folded = std::fs::read_to_string(world.path("both.folded")).unwrap();
    let sums = folded.lines().fold([0.0, 0.0], |[a, b], line| {
        let mut words = line.rsplitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).unwrap();
        let of_b = number();
        [a + number(), b + of_b]
    });
    let sides = [0, 1].map(|side| found["sides"][side]["us_per_transaction"].as_f64().unwrap());
    for (ns, us) in sums.into_iter().zip(sides) {
        assert!((ns / (1e3 * us) - 1.0).abs() < 0.02, "{ns} ns, {us} us\n{folded}");
    }
    let page = std::fs::read_to_string(world.path("results/report.html")).unwrap();
    // A is the faster condition: a single client may wait longer for idle CPUs to wake than three for busy ones.
    let drawn = |a: u8, b: u8| page.contains(&format!("The difference: from A (threads={a}) to B (threads={b})"));
    assert!(drawn(1, 3) || drawn(3, 1));
    assert_eq!(found["difference"]["statements_tested"], 7, "{out}");
    for record in crate::support::trials(&world.path("results")) {
        let sample = &record["capture_sample"];
        let clients: f64 = record["condition"].as_str().unwrap().trim_start_matches("threads=").parse().unwrap();
        let of_whole = sample["tps"].as_f64().unwrap() / (1e6 * clients);
        let statements = sample["statement_us"].as_object().unwrap().values().map(|us| us.as_f64().unwrap());
        let share = of_whole * statements.sum::<f64>();
        assert!(share > 0.3 && share <= 1.0, "{share} of the clients' time: {sample}");
        let printed = record["captures"]["wakes"].is_string() || record["captures_missing"]["wakes"].is_string();
        assert_eq!(printed, wakes == "on", "{record}");
        counted(&record);
    }
}

/// Each side's threads gave up the CPU about once per statement, fourteen per transaction, if perf may count here.
fn counted(record: &Value) {
    if record["captures_missing"]["events"].is_string() {
        return;
    }
    let sample = &record["capture_sample"];
    let transactions = sample["tps"].as_f64().unwrap() * sample["elapsed_s"].as_f64().unwrap();
    for side in ["client", "server"] {
        let events = &sample["events"][side];
        if events["user_only"] == true {
            continue;
        }
        let switches = events["counts"]["context-switches"].as_f64().unwrap_or_else(|| panic!("{record}"));
        assert!(events["cpu_s"].as_f64().unwrap() > 0.0 && switches > transactions, "{transactions}: {events}");
    }
}

fn first_cause(found: &Value) -> &Value {
    found["causes"].as_array().and_then(|causes| causes.first()).unwrap_or_else(|| panic!("{found:#}"))
}

/// Checks that the suggested command is valid for this study.
fn can_be_typed(world: &World, cause: &Value) {
    let prove = cause["prove"].as_str().unwrap();
    let words: Vec<&str> = prove.strip_prefix("tare ").unwrap().split(' ').chain(["--dry-run"]).collect();
    world.exits(0, &words);
}

#[test]
fn the_command_that_measures_two_runs_in_one_session_can_be_typed() {
    let world = World::new();
    let study = world.study(
        "name = \"apart\"\n[workload]\nrows = 100\nthreads = 1\n[sampling]\ntrials = 2\nwarmup_s = 0\n\
         sample_s = 0.1\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n",
    );
    world.exits(0, &["run", &study, "--out", "a"]);
    world.exits(0, &["run", &study, "--set", "workload.threads=2", "--out", "b"]);
    let command = "tare run a/study.toml --set factors.threads=1,2";
    for compares in ["compare", "why"] {
        let (out, _) = world.exits(0, &[compares, "a", "b"]);
        assert!(one_line(&out).contains(&format!("in one session, block by block: {command}")), "{out}");
    }
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--dry-run"]).collect();
    let (out, _) = world.exits(0, &words);
    assert!(out.contains("study apart: 2 conditions"), "{out}");
}

/// The fraction of time in which other programs had the CPUs, of the side with the larger one.
pub fn taken_by_others(found: &Value) -> f64 {
    let sides = found["sides"].as_array().unwrap().iter();
    let parts = sides.flat_map(|side| side["parts"].as_array().unwrap());
    let taken = parts.filter(|part| part["name"] == "other_programs").map(|part| part["share"].as_f64().unwrap());
    taken.fold(0.0, f64::max)
}

/// Whether this is so much that almost nothing else can be measured.
fn disturbed(found: &Value) -> bool {
    taken_by_others(found) > 0.5
}

const FIRST_LOOK: &str = r#"
name = "wakes"
[workload]
name = "point_select"
rows = 1000
[sampling]
trials = 4
attempts = 1
warmup_s = 0.1
sample_s = 0.3
[factors]
placement = ["same-pu", "same-cache"]
[placements.same-pu]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
[placements.same-cache]
client = "all"
server = "all"
bind = "thread"
pairing = "same-cache"
"#;

#[test]
fn wake_ups_between_two_cpus_are_the_first_cause_and_are_reported_by_every_command() {
    let world = World::new();
    let found = why(&world, FIRST_LOOK, "placement=same-pu", "placement=same-cache");
    assert_eq!((&found["schema"], &found["version"]), (&"tare-why".into(), &1.into()), "{found:#}");
    let cause = first_cause(&found);
    assert!(disturbed(&found) || cause["kind"] == "wake_ups", "{found:#}");
    assert_ne!(cause["kind"], "cpu_shortage", "what other programs do is no reason: {found:#}");
    let prove = cause["prove"].as_str().unwrap();
    assert!(disturbed(&found) || prove.contains("--set client.spin=on"), "{cause:#}");
    can_be_typed(&world, cause);
    let text = found["text"].as_str().unwrap();
    assert!(text.split_whitespace().count() <= 25, "{text}");

    let side = |name: &str| format!("{}:placement={name}", world.path("results").display());
    // The text output, of single conditions, and in the summary.
    let results = world.path("results").display().to_string();
    let (out, _) = world.exits(0, &["why", &side("same-pu"), &side("same-cache")]);
    assert!(out.contains("To decide about ") && out.contains("not explained"), "{out}");
    let (out, _) = world.exits(0, &["why", &results]);
    assert!(out.contains("placement=same-cache: ") && out.contains("switches per transaction"), "{out}");
    // The output ends with the next command.
    let command =
        out.lines().last().and_then(|line| line.trim().strip_prefix("tare ")).unwrap_or_else(|| panic!("{out}"));
    let (out, _) = world.exits(0, &command.split(' ').collect::<Vec<_>>());
    assert!(out.contains("from A (placement="), "{out}");
    let (out, _) = world.exits(0, &["show", &results]);
    assert!(out.contains("where the time of a transaction goes"), "{out}");
    let (out, _) = world.exits(0, &["show", &results, "--json"]);
    assert_eq!(json(&out)["time"].as_array().unwrap().len(), 2, "{out}");
    let (_, err) = world.exits(2, &["why", &side("same-pu"), &side("same-pu")]);
    assert!(err.contains("same trials"), "{err}");
}

/// Causes in the embedded engine: option, microseconds, suspect, and whether the size is CPU time of a known length.
/// All are far longer than the 250 us of kernel time that it can take to wake a thread on a virtual CPU which its host
/// has taken away meanwhile: waits become longer with each of them, and so does this.
const PLANTED: [(&str, u32, &str, bool); 4] = [
    ("work", 3000, "server_work", true),
    ("kernel", 3000, "kernel_time", true),
    ("client", 3000, "client_bound", true),
    ("commit", 3000, "pauses", false),
];

#[test]
fn a_cause_planted_in_the_embedded_engine_is_ranked_first_with_its_size() {
    let world = World::new();
    let option = |name: &str| format!("option.tare_planted_{name}_us");
    let factors: String =
        PLANTED.iter().map(|(name, us, ..)| format!("tare_planted_{name}_us = [0, {us}]\n")).collect();
    let study = world.study(&format!(
        "name = \"planted\"\n[workload]\nname = \"update_non_index\"\nrows = 1000\nthreads = 1\n\
         [capture]\nwaits = \"on\"\n[design]\nkind = \"one-at-a-time\"\n\
         [sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0.05\nsample_s = 0.3\nforeign_cpu_limit = \"off\"\n\
         steal_limit = \"off\"\n[factors.option]\n{factors}"
    ));
    world.exits(0, &["run", &study, "--out", "results"]);
    closes(&world);
    let side = |planted: &str| {
        let levels: Vec<String> = PLANTED
            .iter()
            .map(|(name, us, ..)| format!("{}={}", option(name), if *name == planted { *us } else { 0 }))
            .collect();
        format!("{}:{}", world.path("results").display(), levels.join(" "))
    };
    for (name, planted_us, kind, exact) in PLANTED {
        let (out, _) = world.exits(0, &["why", &side(""), &side(name), "--json"]);
        let found = json(&out);
        let cause = first_cause(&found);
        // Sleeps are observed by a sampling thread, which must wait for a CPU like other threads.
        let unseen = !exact && taken_by_others(&found) > 0.2;
        assert!(cause["kind"] == kind || unseen && cause["kind"] == "unnamed_waits", "{name}: {found:#}");
        let times = cause["us"].as_f64().unwrap() / f64::from(planted_us);
        // Load on the same core increases the CPU time of work, and may prevent two trials from showing the cause. The
        // kernel divides CPU time between user and system by samples: of 3 ms, 2.1 were found to be its own.
        let least = if name == "kernel" { 0.5 } else { 0.7 };
        let sized = times > least && (times < 1.5 || !exact);
        assert!(unseen || disturbed(&found) || sized, "{name}: {times} of {cause:#}");
    }
}

#[test]
fn more_client_threads_than_cpus_are_reported_as_a_shortage_of_cpus() {
    let world = World::new();
    let study = "name = \"threads\"\n[workload]\nname = \"point_select\"\nrows = 1000\n\
         [sampling]\ntrials = 4\nattempts = 1\nwarmup_s = 0.1\nsample_s = 0.3\nforeign_cpu_limit = \"off\"\n\
         steal_limit = \"off\"\n[factors]\nthreads = [1, 16]\n";
    let found = why(&world, study, "threads=1", "threads=16");
    let cause = first_cause(&found);
    if cause["kind"] != "cpu_shortage" && taken_by_others(&found) > 0.2 {
        // A single client lacked CPUs too, because of other programs: sixteen add too little to that.
        return;
    }
    assert_eq!(cause["kind"], "cpu_shortage", "{found:#}");
    assert!(cause["prove"].as_str().unwrap().contains("factors.threads=16,8"), "{cause:#}");
    can_be_typed(&world, cause);

    // The same by experiment: with half the threads, the time per transaction falls.
    let side = |name: &str| format!("{}:threads={name}", world.path("results").display());
    let (a, b) = (side("1"), side("16"));
    let prove = ["why", &a, &b, "--prove", "--within", "60s", "--json"];
    let (out, _) = world.exits(0, &[prove.as_slice(), &["--dry-run"]].concat());
    let planned = json(&out);
    let first = &planned["proofs"][0];
    assert_eq!((&first["kind"], &first["changes"]), (&"cpu_shortage".into(), &"workload.threads=8".into()), "{out}");
    assert!(first["verdict"].is_null() && !world.path("proof").exists(), "{out}");
    let (out, _) = world.exits(0, &[prove.as_slice(), &["--out", "proof"]].concat());
    let proof = &json(&out)["proofs"][0];
    let kept = json(&std::fs::read_to_string(world.path("proof/why.json")).unwrap());
    assert_eq!((&kept["proofs"][0], &kept["schema"]), (proof, &"tare-why".into()), "{out}");
    // If others use most of the CPU time, a minute may not decide anything.
    assert!(proof["verdict"] == "stands" || disturbed(&found) && proof["verdict"] == "undecided", "{proof:#}");
    assert!(proof["ratio"].as_f64().is_none_or(|ratio| disturbed(&found) || ratio < 0.8), "{proof:#}");
    let (_, err) = world.exits(2, &["why", &a, &b, "--prove", "--within", "2h", "--out", "long"]);
    let first = err.lines().next().unwrap();
    assert_eq!(first, "1 experiment in 2 h 0 min:", "{err}");
    assert!(err.contains("add --yes to start anyway; shorter: --within 30min"), "{err}");
    assert!(!world.path("long").exists(), "nothing was started");
    let (_, err) = world.exits(2, &["why", &a, &b, "--prove", "--within", "1s"]);
    assert!(err.contains("the time is too short"), "{err}");

    // An experiment that cannot be made is recorded as undecided, with the reason.
    std::fs::create_dir_all(world.path("blocked")).unwrap();
    std::fs::write(world.path("blocked/1-cpu_shortage"), "").unwrap();
    let mut failed = world.tare(&["why", &a, &b, "--prove", "--within", "60s", "--out", "blocked", "--json"]);
    let failed = failed.output().unwrap();
    assert!(!failed.status.success(), "{failed:?}");
    let kept = json(&std::fs::read_to_string(world.path("blocked/why.json")).unwrap());
    assert_eq!(kept["proofs"][0]["verdict"], "undecided", "{kept:#}");
    assert!(kept["proofs"][0]["problem"].is_string() && json(&text(&failed.stdout)) == kept, "{kept:#}");

    // Ctrl-C after a pair: the incomplete experiment is kept, and decides nothing.
    let (printed, deadline) = (world.path("said"), Instant::now() + Duration::from_secs(60));
    let mut tare = world.tare(&["why", &a, &b, "--prove", "--within", "10min", "--out", "ended"]);
    let mut tare = tare.stdout(Stdio::null()).stderr(File::create(&printed).unwrap()).spawn().unwrap();
    while !std::fs::read_to_string(&printed).unwrap().contains("pair 1: ") {
        assert!(Instant::now() < deadline && tare.try_wait().unwrap().is_none(), "no pair");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(tare.id(), Signal::INT);
    assert_eq!(tare.wait().unwrap().code(), Some(130));
    let kept = json(&std::fs::read_to_string(world.path("ended/why.json")).unwrap());
    assert_eq!((&kept["proofs"][0]["verdict"], kept["proofs"].as_array().unwrap().len()), (&"undecided".into(), 1));
    world.assert_clean();
}

/// On a fake machine that has all of these settings.
#[test]
fn settings_that_memory_suspects_change_can_be_set() {
    let world = World::new();
    let root = world.path("machine");
    fake::create(&root).unwrap();
    let study = world.study("name = \"memory\"\n[workload]\nname = \"point_select\"\nrows = 1000\n");
    for set in ["process.allocator=jemalloc", "machine.thp=always", "machine.numa_balancing=off"] {
        let mut tare = world.tare(&["run", &study, "--set", set, "--dry-run"]);
        let output = tare.env("TARE_SYSTEM_ROOT", &root).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && !out.contains("cannot"), "{set}: {out}{err}");
    }
}

/// A study of MariaDB with captures of all waits.
fn mariadb(workload: &str, factors: &str) -> String {
    format!(
        "name = \"planted\"\n[engine]\nname = \"mariadb\"\n{workload}\n[capture]\nstatus = true\nlocks = true\n\
         [sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0.1\nsample_s = 0.4\n{factors}\n"
    )
}

#[test]
fn a_hot_row_is_ranked_as_the_first_cause() {
    let world = World::sharing();
    let workload = "[engine.options]\ninnodb_flush_log_at_trx_commit = \"0\"\n\
                    [workload]\nname = \"update_non_index\"\ntables = 1\nthreads = 16";
    let found = why(&world, &mariadb(workload, "[factors]\nrows = [1000, 2]"), "rows=1000", "rows=2");
    let cause = first_cause(&found);
    assert_eq!(cause["kind"], "row_lock", "{found:#}");
    assert!(cause["us"].as_f64().unwrap() > 10.0, "{cause:#}");
}

#[test]
fn a_commit_that_waits_for_storage_is_ranked_as_the_first_cause() {
    let world = World::sharing();
    let workload = "[workload]\nname = \"update_non_index\"\ntables = 1\nrows = 1000\nthreads = 1";
    let factors = "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]";
    let name = |level: u8| format!("option.innodb_flush_log_at_trx_commit={level}");
    let found = why(&world, &mariadb(workload, factors), &name(0), &name(1));
    let cause = first_cause(&found);
    if disturbed(&found) {
        return;
    }
    assert_eq!(cause["kind"], "commit", "{found:#}");
    let counts = |side: usize| cause["counts"][side].as_f64().unwrap();
    assert!(counts(0) < 0.1 && counts(1) > 0.5, "{cause:#}");
    assert!(
        cause["prove"].as_str().unwrap().contains("factors.option.innodb_flush_log_at_trx_commit=1,0"),
        "{cause:#}"
    );
    can_be_typed(&world, cause);
}

/// Clients that spin are not woken; their spinning time is recorded, but is no part of a transaction's time.
#[test]
fn spinning_clients_do_not_sleep_and_their_spinning_is_in_no_time_part() {
    let world = World::new();
    let study = world.study(
        "name = \"spin\"\n[workload]\nname = \"point_select\"\nrows = 100\n[placement]\nclient = \"all\"\n\
         server = \"all\"\nbind = \"thread\"\npairing = \"same-cache\"\n[sampling]\ntrials = 1\nattempts = 1\n\
         warmup_s = 0.05\nsample_s = 0.4\nforeign_cpu_limit = \"off\"\nsteal_limit = \"off\"\n[capture]\nwaits = \"on\"\n\
         [factors]\nspin = [\"off\", \"on\"]\n",
    );
    world.exits(0, &["run", &study, "--out", "results"]);
    closes(&world);
    let results = tare_results::open(&world.path("results")).unwrap();
    for trial in &results.trials {
        let (sample, spins) = (&trial.samples[0], trial.levels["spin"] == "on");
        let switches = sample.covariates["client_voluntary_switches"] / (sample.metrics["tps"] * sample.elapsed_s);
        assert_eq!((switches < 0.1, switches > 0.5), (spins, !spins), "{switches}: {sample:?}");
        let spun_s = sample.covariates.get("client_spun_s").copied();
        assert_eq!(spun_s.is_some_and(|s| s > 0.1 * sample.elapsed_s && s < sample.elapsed_s), spins, "{spun_s:?}");
        // The client's CPU is busy, but not the limit.
        assert!(sample.covariates["client_busy_fraction"] < 0.9, "{sample:?}");
    }
}
