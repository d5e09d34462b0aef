//! `tare ab`: pairs until it is decided, exit codes, and interrupted and resumed comparisons.

use crate::support::{
    QUIET, World, busy, json, names, one_line, send, text, trials, wait_for_trials, wait_until, words_of,
};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tare_engine::{Address, ConnectTarget, Engine, Sqlite};

fn ab(world: &World, code: i32, a: &str, b: &str, more: &[&str]) -> (Value, String) {
    let all = [&["ab", "--json", "--out", "results", "--a", a, "--b", b], &QUIET[..], more].concat();
    let (out, err) = world.exits(code, &all);
    let document = json(&out);
    assert_eq!((&document["schema"], &document["version"]), (&"tare-ab".into(), &1.into()));
    (document, err)
}

#[test]
fn a_command_with_a_known_slowdown_is_slower_and_exits_with_1() {
    let world = World::new();
    let (a, b) = ("command=sleep 0.10", "command=sleep 0.15");
    let began = Instant::now();
    let (found, err) = ab(&world, 1, a, b, &["--budget", "2min", "--minimum-effect", "10%", "--seed", "5"]);
    let elapsed_s = began.elapsed().as_secs() as usize;
    assert_eq!((&found["verdict"], &found["metric"]), (&"slower".into(), &"wall_s".into()), "{err}");
    let figure = |name: &str| found[name].as_f64().unwrap();
    assert!((1.2..1.6).contains(&figure("ratio")) && figure("ci_low") > 1.0 && figure("ci_high") < 2.5, "{found}");
    let pairs = found["pairs"].as_u64().unwrap() as usize;
    assert!((6..=60).contains(&pairs), "{found}");
    assert_eq!(found["pairs_to_go"], 0);
    assert!(found["slot"]["ratio"].as_f64().unwrap() > 0.0);
    // A line every two seconds, and a first sentence of at most 25 words.
    let lines = err.lines().filter(|line| line.starts_with("pair ")).count();
    assert!((1..=elapsed_s / 2 + 1).contains(&lines), "{lines} lines in {elapsed_s} s: {err}");
    assert!(found["text"].as_str().unwrap().starts_with("B is ") && words(&found) <= 25, "{found}");
    // Each pair has both sides, and neither is always the first.
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2 * pairs);
    let firsts: Vec<bool> = records.chunks(2).map(|pair| pair[0]["levels"]["side"] == "a").collect();
    assert!(firsts.contains(&true) && firsts.contains(&false), "{firsts:?}");
    // Nor do they take turns.
    assert!(firsts.windows(2).any(|next| next[0] == next[1]), "{firsts:?}");
    world.exits(0, &["show", "results"]);
    world.assert_clean();
}

#[test]
fn a_slowdown_on_a_busy_machine_is_found_from_disturbed_pairs() {
    let world = World::new();
    let _busy = busy();
    let all = ["ab", "--json", "--out", "results", "--a", "command=sleep 0.3", "--b", "command=sleep 0.6"];
    let (out, err) = world.exits(1, &[&all[..], &["--budget", "2min", "--seed", "5"]].concat());
    let found = json(&out);
    assert_eq!(found["verdict"], "slower", "{found}{err}");
    assert!(found["disturbed_pairs"].as_u64().unwrap() > 0, "{found}{err}");
    assert!(found["text"].as_str().unwrap().contains(" of them disturbed.") && words(&found) <= 25, "{found}");
    // The explanation is printed once, and from then on no trial is repeated.
    assert_eq!(err.matches("were also disturbed").count(), 1, "{err}");
    assert!(!err.contains("preparing data"), "a command has none: {err}");
    let svg = std::fs::read_to_string(world.path("results/ab.svg")).unwrap();
    assert!(svg.contains("(hollow: disturbed)") && svg.contains("class=\"trial m7 disturbed\""), "{svg}");
}

fn words(found: &Value) -> usize {
    found["text"].as_str().unwrap().split_whitespace().count()
}

#[test]
fn sides_with_identical_settings_are_reported_before_anything_is_measured() {
    let world = World::new();
    let printed = |a: &str, b: &str| {
        let all = ["ab", "--dry-run", "--engine", "sqlite", "--a", a, "--b", b];
        let (out, _) = world.exits(0, &all);
        assert!(out.contains("pairs of 2 trials of 1 sample; about ") && out.contains(" per pair"), "{out}");
        out.contains("both sides have the same settings")
    };
    assert!(printed("option.cache_size=-100", "option.cache_size=-100"));
    assert!(printed("option.synchronous=OFF", "option.synchronous=off"));
    assert!(!printed("option.cache_size=-100", "option.cache_size=-200"));
    assert!(!printed("placement=float", "placement=same-pu"));
    let sides = ["ab", "--dry-run", "--engine", "sqlite", "--a", "aslr=off", "--b", "aslr=on"];
    for (probe, is_reported) in [("record", false), ("chain", true)] {
        let (out, _) = world.exits(0, &[&sides[..], &["--set", &format!("sampling.probe={probe}")]].concat());
        assert_eq!(one_line(&out).contains("pairs are not adjusted by a probe"), is_reported, "{out}");
    }
}

#[test]
fn a_command_against_itself_is_equivalent_or_undecided() {
    let world = World::new();
    let side = "command=sleep 0.05";
    let all = ["ab", "--json", "--out", "results", "--a", side, "--b", side, "--minimum-effect", "40%", "--seed", "3"];
    let output = world.output(&[&all, &QUIET[..], &["--budget", "3min"]].concat());
    let found = json(&String::from_utf8(output.stdout).unwrap());
    let expected = match output.status.code() {
        Some(0) => "equivalent",
        Some(5) => "undecided",
        other => panic!("{other:?}: {found}"),
    };
    assert_eq!(found["verdict"], expected, "{found}");
}

/// A program that prints a figure and a second one, each with its own noise; in every second run the figure is 5%
/// larger. It also records the length of its environment's padding.
fn figures(world: &World) -> String {
    let script = "n=$(($(cat runs 2>/dev/null || echo 0) + 1)); echo $n > runs; echo ${#TARE_PADDING} >> lengths\n\
                  echo figure $((($1 + n * n * 7919 % 1009) * (100 + $3 * (1 - n % 2))))\n\
                  echo aside $(($2 + n * 31 % 101))\n";
    std::fs::write(world.path("figures"), format!("cd {}\n{script}", world.directory.path().display())).unwrap();
    format!("command=sh {}", world.path("figures").display())
}

const FIGURES: [&str; 4] = [
    "--set",
    "workload.metrics=regex 'figure ([0-9]+)' as figure regex 'aside ([0-9]+)' as aside",
    "--metric",
    "figure",
];

#[test]
fn the_effect_of_running_second_is_reported_as_no_change_and_environment_sizes_vary() {
    let world = World::new();
    let side = format!("{} 100000 100000 5", figures(&world));
    let more = [&FIGURES[..], &["--minimum-effect", "2%", "--seed", "5"]].concat();
    let (found, err) = ab(&world, 0, &side, &side, &more);
    assert_eq!(found["verdict"], "equivalent", "{err}");
    let slot = |name: &str| found["slot"][name].as_f64().unwrap();
    assert!((slot("ratio") - 1.05).abs() < 0.005 && slot("ci_low") > 1.03, "{found}");
    let lengths = std::fs::read_to_string(world.path("lengths")).unwrap();
    let mut lengths: Vec<usize> = lengths.lines().map(|length| length.parse().unwrap()).collect();
    let trials = lengths.len();
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() + 2 >= trials && lengths.iter().all(|length| length % 16 == 0), "{lengths:?}");
}

#[test]
fn nothing_is_claimed_if_a_named_control_differs_between_the_sides() {
    let world = World::new();
    let program = figures(&world);
    let a = format!("{program} 100000 100000 0");
    let more = [&FIGURES[..], &["--control", "aside", "--seed", "5"]].concat();
    let (found, err) = ab(&world, 5, &a, &format!("{program} 110000 110000 0"), &more);
    let control = &found["controls"][0];
    assert_eq!((&control["name"], &control["moved"]), (&"aside".into(), &true.into()), "{found}{err}");
    assert!(found["text"].as_str().unwrap().starts_with("No verdict"), "{found}");
    std::fs::remove_dir_all(world.path("results")).unwrap();
    let (found, err) = ab(&world, 0, &a, &format!("{program} 110000 100000 0"), &more);
    assert_eq!((&found["verdict"], &found["controls"][0]["moved"]), (&"faster".into(), &false.into()), "{err}");
}

#[test]
fn a_spent_budget_leaves_a_comparison_undecided_with_its_figures() {
    // Uniform from 0.1 to 0.5 s: a few pairs cannot show 1%. One comparison in fifty is decided by chance.
    let world = World::new();
    let side = "command=bash -c 'sleep 0.$((RANDOM % 40 + 10))'";
    let (found, err) = ab(
        &world,
        5,
        side,
        side,
        &["--set", "workload.shell=on", "--minimum-effect", "1%", "--budget", "8s", "--seed", "9"],
    );
    assert_eq!(found["verdict"], "undecided", "{found}");
    let text = found["text"].as_str().unwrap();
    let printed = |words: &str| text.contains(words);
    match found["pairs_to_go"].as_u64().or(found["new_comparison"]["pairs"].as_u64()) {
        Some(more) => assert!((1..=1000).contains(&more), "{found}"),
        None => {
            assert!(printed("takes more than 1000 pairs or a day") || printed("the first look is after 4"), "{found}")
        }
    }
    let advised = err.contains(": a new comparison with --budget ");
    assert_eq!(advised, !printed("takes more than 1000 pairs or a day"), "{err}");
    let (_, err) = world.exits(2, &["ab", "--resume", "results", "--budget", "1h"]);
    assert!(err.contains("the budget of this comparison cannot be changed"), "{err}");
    // Fewer than six pairs cannot show a change of any size.
    let enough = found["pairs"].as_u64().unwrap() >= 6;
    assert_eq!(found["smallest_detectable"].as_f64().is_some_and(|seen| seen > 0.01), enough, "{found}");
    assert!(
        found["pairs_to_go_at_most"].is_null() || found["pairs_to_go_at_most"].as_u64() > found["pairs_to_go"].as_u64()
    );
    assert!((printed(": B/A ") || !enough) && words(&found) <= 25, "{found}");
}

#[test]
fn an_interrupted_comparison_reports_its_state_and_resumes_by_the_same_rule() {
    let world = World::new();
    let side = "command=sleep 0.25";
    let results = world.path("results");
    let all = [&["ab", "--out", "results", "--a", side, "--b", side, "--minimum-effect", "20%"], &QUIET[..]].concat();
    let run = world.tare(&all).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_trials(&results, 3);
    send(run.id(), Signal::INT);
    let output = run.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{out}{err}");
    assert!(out.starts_with("Undecided after ") && err.contains("tare ab --resume results"), "{out}{err}");
    let before = trials(&results);
    let rule = |results: &std::path::Path| {
        json(&std::fs::read_to_string(results.join("plan.json")).unwrap())["settle"].clone()
    };
    let began_with = rule(&results);
    // A rule that looks after every pair includes every end: less time, then more.
    let (_, err) = world.exits(5, &["ab", "--resume", "results", "--json", "--budget", "0.6s"]);
    assert!(err.contains("to reach the first look, resume it: tare ab --resume results --budget "), "{err}");
    assert_eq!(rule(&results)["budget_s"], 0.6);
    let output = world.output(&["ab", "--resume", "results", "--json", "--budget", "3min"]);
    assert!(matches!(output.status.code(), Some(0)), "{output:?}");
    let after = trials(&results);
    assert_eq!(after[..before.len()], before[..], "finished trials were touched");
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&found["verdict"], &found["sessions"]), (&"equivalent".into(), &1.into()), "{found}");
    assert_eq!(found["pairs"].as_u64().unwrap() as usize * 2, after.len());
    let went_on = rule(&results);
    assert_eq!((&went_on["budget_s"], &went_on["rule"]), (&180.0.into(), &"anytime".into()));
    for key in ["seed", "rule", "alpha", "minimum_effect", "a", "b"] {
        assert_eq!(began_with[key], went_on[key], "{key}");
    }
    world.assert_clean();
}

#[test]
fn failing_trials_end_a_comparison_and_invalid_sides_are_refused() {
    let world = World::new();
    let (out, err) = world.exits(4, &["ab", "--a", "command=false", "--b", "command=false"]);
    assert!(!err.is_empty(), "{out}");
    for (more, a, b, of) in [
        (&["--seed", "1"][..], "true", "false", "B"),
        (&["--seed", "2"], "false", "true", "A"),
        (&["--sessions", "5"], "true", "false", "B"),
    ] {
        let sides = [format!("command={a}"), format!("command={b}")];
        let args = [&["ab", "--out", "results", "--a", &sides[0], "--b", &sides[1]], &QUIET[..], more].concat();
        let (out, err) = world.exits(4, &args);
        let ended = format!("all 3 trials of {of} so far failed for the same reason\n  where: ");
        assert!(err.contains(&ended) && err.contains("exit status: 1"), "{out}{err}");
        assert!(
            err.contains("resume with: tare ab --resume results; if the side itself is the cause, begin another"),
            "{err}"
        );
        assert_eq!(trials(&world.path("results")).iter().filter(|trial| trial["outcome"] == "failed").count(), 3);
        std::fs::remove_dir_all(world.path("results")).unwrap();
    }
    // Trials that succeed with a metric of 0 have not failed.
    let sides = ["ab", "--out", "zero", "--a", "command=echo figure 1", "--b", "command=echo figure 0"];
    let measured = ["--set", "workload.metrics=regex 'figure ([0-9]+)' as figure", "--metric", "figure"];
    let (out, err) = world.exits(4, &[&sides[..], &measured, &QUIET].concat());
    assert!(err.contains("`figure` is 0 or below, so it has no ratio") && !err.contains("failed"), "{out}{err}");
    let (_, err) = world.exits(2, &["ab", "--a", "command=true", "--b", "option.x=1"]);
    assert!(err.contains("one side is a command"), "{err}");
    for (a, printed) in [("build=old", "where: --a"), ("nonsense", "binary=PATH"), ("placment=x", "mean placement?)")] {
        let (_, err) = world.exits(2, &["ab", "--a", a, "--b", "placement=same-pu"]);
        assert!(err.contains(printed) && err.contains(a), "{err}");
    }
}

#[test]
fn an_invalid_side_or_program_is_refused_with_the_word_that_is_missing() {
    let world = World::new();
    std::fs::write(world.path("my prog"), "#!/bin/sh\n").unwrap();
    for (side, code, printed) in [
        ("my prog", 2, "command=my prog of another program"),
        ("command=./my prog", 3, "in quotes if it has spaces"),
        ("command='./my prog'", 3, "chmod +x"),
        ("binary=my prog", 3, "found ./my prog"),
        ("binary=/bin/true", 3, "write a program that is not a server as command=PROGRAM"),
    ] {
        let (_, err) = world.exits(code, &["ab", "--a", side, "--b", side]);
        assert!(err.contains(printed), "{side}: {err}");
    }
    let (_, err) = world.exits(3, &["find", "threads=1", "--dry-run"]);
    assert!(err.contains("there is only one candidate here, threads=1\n  expected"), "{err}");
    let (_, err) = world.exits(2, &["history", ".", "--commits", "none"]);
    assert!(err.contains("this folder contains no results"), "{err}");
}

/// Simulates a restart of the machine: the plan names a boot other than the current one.
fn restarted(results: &std::path::Path) {
    let path = results.join("plan.json");
    let mut plan = json(&std::fs::read_to_string(&path).unwrap());
    plan["settle"]["begun"][0]["boot_id"] = "another".into();
    std::fs::write(&path, plan.to_string()).unwrap();
}

#[test]
fn a_verdict_over_sessions_needs_all_of_them_and_counts_reboots() {
    let world = World::new();
    let (a, b) = ("command=sleep 0.02", "command=sleep 0.20");
    let (found, err) = ab(&world, 5, a, b, &["--sessions", "5", "--budget", "10s", "--seed", "7"]);
    assert_eq!((&found["verdict"], &found["sessions"]), (&"undecided".into(), &1.into()), "{found}");
    assert!(found["ci_low"].is_null() && err.contains("session 1 of 5 is over"), "{found} {err}");
    restarted(&world.path("results"));
    for session in 2..=5 {
        let code = if session < 5 { 5 } else { 1 };
        let (out, err) = world.exits(code, &["ab", "--resume", "results", "--json"]);
        let found = json(&out);
        assert_eq!(found["sessions"], session, "{err}");
        assert_eq!((&found["boots"], &found["over_sessions"]), (&2.into(), &(session == 5).into()), "{found}");
        if session == 5 {
            assert_eq!(found["verdict"], "slower", "{found}");
            assert!(found["text"].as_str().unwrap().contains("over 5 sessions") && words(&found) <= 25, "{found}");
        }
    }
    // Sessions that were evaluated already are not extended.
    let before = trials(&world.path("results")).len();
    world.exits(1, &["ab", "--resume", "results", "--json"]);
    assert_eq!(trials(&world.path("results")).len(), before);
    for sessions in ["3", "1001"] {
        let (_, err) = world.exits(2, &["ab", "--a", a, "--b", b, "--sessions", sessions]);
        assert!(err.contains("1, or 5 to 1000"), "{err}");
    }
}

#[test]
fn a_study_with_a_decide_section_runs_as_ab_and_writes_a_chart() {
    let world = World::new();
    let study = "name = \"s\"\n[workload]\nname = \"command\"\ncommand = \"true\"\nwarmup_s = 0\n[sampling]\nsamples = 1\n\
                 warmup_s = 0\nsteal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n[decide]\na = \"command=sleep 0.02\"\n\
                 b = \"command=sleep 0.20\"\nminimum_effect = \"10%\"\nbudget_s = 40\nseed = 3\n"
        .replace("warmup_s = 0\n[sampling]", "[sampling]");
    std::fs::write(world.path("s.toml"), study).unwrap();
    let (out, _) = world.exits(0, &["run", "s.toml", "--dry-run", "--json"]);
    let names: Vec<String> = json(&out)["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| condition["levels"]["side"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let (out, err) = world.exits(1, &["run", "s.toml", "--out", "results", "--json"]);
    let found = json(&out);
    assert_eq!((&found["schema"], &found["verdict"]), (&"tare-ab".into(), &"slower".into()), "{err}");
    assert_eq!(found["minimum_effect"], 0.1);
    let svg = std::fs::read_to_string(world.path("results/ab.svg")).unwrap();
    assert!(svg.contains("class=\"equal\"") && svg.contains(found["text"].as_str().unwrap()), "{svg}");
    assert!(world.path("results/ab.png").exists());
}

#[test]
fn named_builds_have_the_probes_as_controls_in_both_run_and_ab() {
    let world = World::new();
    let study = world.study(
        "name = \"s\"\n[workload]\nname = \"point_select\"\nrows = 1000\n[sampling]\nwarmup_s = 0.05\nsample_s = 0.2\n\
         [builds.old]\n[builds.new]\noptions = { cache_size = \"-100\" }\n[decide]\na = \"build=old\"\n\
         b = \"build=new\"\nbudget_s = 0.5\n",
    );
    let off = ["run", &study, "--set", "sampling.probe=off"];
    let text = std::fs::read_to_string(&study).unwrap().replace("[sampling]\n", "[sampling]\nprobe = \"off\"\n");
    std::fs::write(world.path("off.toml"), text).unwrap();
    for (number, (words, controls)) in
        [(&["run", &study][..], 3), (&["ab", "--study", &study], 3), (&off, 0), (&["run", "off.toml"], 0)]
            .into_iter()
            .enumerate()
    {
        let (out, err) = world.exits(5, &[words, &["--json", "--out", &number.to_string()], &QUIET].concat());
        assert_eq!(json(&out)["controls"].as_array().map(Vec::len), Some(controls), "{words:?} {out}{err}");
    }
}

#[test]
fn a_certificate_of_a_side_against_itself_is_shown_with_every_verdict() {
    let world = World::new();
    let side = "command=sleep 0.02";
    let relinked = ["--relinked", "command=sleep 0.021"];
    let certify = |budget: &str| {
        let _ = std::fs::remove_dir_all(world.path("c"));
        let all = ["ab", "--certify", "--json", "--out", "c", "--a", side, "--budget", budget];
        json(&world.exits(0, &[&all[..], &relinked, &QUIET].concat()).0)
    };
    // On a busy machine there are too few pairs in a few seconds.
    let few = |found: &Value| found["decides"].as_array().is_none_or(Vec::is_empty);
    let found = ["3s", "15s"].into_iter().map(certify).find(|found| !few(found)).expect("too few pairs in 15 s");
    let twin = |name: &str| {
        found["against"].as_array().unwrap().iter().find(|own| own["twin"] == name).cloned().unwrap_or_default()
    };
    assert!(twin("same")["pairs"].as_u64().unwrap() >= 1 && twin("copy")["pairs"].as_u64().unwrap() >= 1, "{found}");
    assert!(twin("relinked")["pairs"].as_u64().unwrap() >= 1, "{found}");
    assert!(twin("layout")["reason"].as_str().unwrap().contains("environment"), "{found}");
    assert_eq!(found["decides"].as_array().unwrap().len(), 3);
    // The copy ran from its own path, and was removed.
    let copied = std::fs::read_to_string(world.path("c/copy/study.toml")).unwrap();
    assert!(copied.contains("/a-copy-of-the-same-program") && copied.contains("/sleep 0.02"), "{copied}");
    assert_eq!(std::fs::read_dir(world.path("c")).unwrap().count(), 3);
    let certificate_of = |command: &str| {
        let (verdict, _) = ab(&world, 5, command, "command=true", &["--budget", "0.02s", "--metric", "wall_s"]);
        std::fs::remove_dir_all(world.path("results")).unwrap();
        verdict["certificate"].clone()
    };
    let certificate = certificate_of(side);
    assert_eq!(certificate["comparisons"], found["comparisons"], "{certificate}");
    assert_eq!((&certificate["load"], &certificate["same_load"]), (&"command".into(), &true.into()));
    assert_eq!(certificate_of("command=true")["same_load"], false, "it was measured of another command");
    // A further certificate for the same load adds to the first.
    let again = [&["ab", "--certify", "--json", "--out", "d", "--a", side, "--budget", "2s"], &QUIET[..]].concat();
    let more = json(&world.exits(0, &again).0)["comparisons"].as_u64().unwrap();
    let (out, _) =
        world.exits(5, &["ab", "--out", "f", "--a", "command=true", "--b", "command=true", "--budget", "0.02s"]);
    assert!(one_line(&out).contains("of command, command=sleep 0.02 (wall_s, within 2.0%)"), "{out}");
    let (out, _) = world.exits(5, &["ab", "--out", "e", "--a", side, "--b", "command=true", "--budget", "0.02s"]);
    let both = found["comparisons"].as_u64().unwrap() + more;
    let printed = if both == 0 { "too few pairs".to_owned() } else { format!("in {both} comparison") };
    assert!(out.contains("A/A here") && out.contains(&printed), "{out}");
    let (shown, _) = world.exits(0, &["show", "e"]);
    assert!(one_line(&shown).contains("A/A there: ") && one_line(&shown).contains(&printed), "{shown}");
    world.exits(0, &["report", "e"]);
    let page = std::fs::read_to_string(world.path("e/report.html")).unwrap();
    assert!(page.contains("A/A there: ") && page.contains(&printed), "{page}");
}

#[test]
fn both_sides_of_a_duet_run_at_the_same_time_on_swapped_halves_of_the_machine() {
    let world = World::new();
    let plan = |topology: &str| {
        let all = ["ab", "--duet", "--dry-run", "--json", "--topology", topology, "--a", "aslr=off", "--b", "aslr=off"];
        world.output(&all)
    };
    let refused = plan("core:1 pu:2");
    assert_eq!(refused.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("cannot be divided into two equal halves"),
        "{refused:?}"
    );
    let profiled = ["ab", "--duet", "--dry-run", "--a", "aslr=off", "--b", "aslr=off", "--set", "capture.profile=on"];
    let (_, err) = world.exits(2, &profiled);
    assert!(err.contains("perf records the whole machine"), "{err}");
    let planned = json(&String::from_utf8(plan("node:4 core:4 pu:2").stdout).unwrap());
    let client = |at: usize| planned["conditions"][at]["placement"]["client"][0].as_array().unwrap().len();
    assert_eq!((planned["conditions"].as_array().unwrap().len(), client(0), client(3)), (4, 16, 16), "{planned}");
    std::fs::write(world.path("d.toml"), "name = \"d\"\n[decide]\na = \"aslr=off\"\nb = \"aslr=on\"\nduet = true\n")
        .unwrap();
    let (out, _) = world.exits(0, &["run", "d.toml", "--dry-run", "--json", "--topology", "node:4 core:4 pu:2"]);
    assert_eq!(json(&out)["conditions"].as_array().unwrap().len(), 4, "each side on either half");
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let short = ["--set", "sampling.sample_s=0.5", "--set", "sampling.warmup_s=0.1", "--set", "workload.rows=1000"];
    let all = [&["--duet", "--load", "read_only", "--budget", "3s", "--seed", "3"], &short[..]].concat();
    let all = [&["ab", "--json", "--out", "results", "--a", "aslr=off", "--b", "aslr=off"], &QUIET[..], &all].concat();
    let output = world.output(&all);
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(found["duet"], true, "{found}");
    let records = trials(&world.path("results"));
    let began = |record: &Value| record["started_at"].as_str().unwrap().to_owned();
    let mut halves = Vec::new();
    for pair in records.chunks(2).filter(|pair| pair.len() == 2) {
        assert_eq!(pair[0]["block"], pair[1]["block"]);
        assert_ne!(pair[0]["levels"]["side"], pair[1]["levels"]["side"]);
        assert_ne!(pair[0]["levels"]["server"], pair[1]["levels"]["server"]);
        // Each trial began before the other one had ended.
        let sample = |record: &Value| record["samples"][0]["started_at"].as_str().unwrap_or_default().to_owned();
        let [first, second] = [sample(&pair[0]), sample(&pair[1])];
        assert!(first.is_empty() || second.is_empty() || began(&pair[0]) < second && began(&pair[1]) < first);
        halves.push(pair.iter().find(|record| record["levels"]["side"] == "a").unwrap()["levels"]["server"].clone());
    }
    assert!(!halves.is_empty(), "{found}");
    world.assert_clean();
}

#[test]
fn samples_of_both_sides_take_turns_while_both_servers_run() {
    let world = World::new();
    let sides = ["ab", "--a", "aslr=off", "--b", "aslr=off"];
    let refused = |all: &[&str], why: &str| {
        let (_, err) = world.exits(2, &[all, &["--interleave", "--dry-run"]].concat());
        assert!(err.contains(why), "{err}");
    };
    refused(&["ab", "--a", "command=true", "--b", "command=true"], "the load is a fixed amount of work");
    refused(&["ab", "--a", "rate=100", "--b", "rate=100"], "cannot rest");
    refused(&[&sides[..], &["--set", "machine.thp=never"]].concat(), "settings of the whole machine");
    world.exits(2, &[&sides[..], &["--duet", "--interleave"]].concat());
    let printed = |more: &[&str]| one_line(&world.exits(0, &[&sides[..], &["--dry-run"], more].concat()).0);
    const BY_TURNS: &str = "by turns: both servers run, and short samples of them alternate";
    assert!(printed(&[]).contains(BY_TURNS), "{}", printed(&[]));
    assert!(!printed(&["--no-interleave"]).contains("by turns"));
    assert!(printed(&["--load", "insert"]).contains("one trial after the other, not by turns: the load writes"));
    assert!(printed(&["--load", "insert", "--interleave"]).contains(BY_TURNS));
    let bound = "[placement]\nclient = \"all\"\nserver = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n";
    const BY_THE_OS: &str = "not by turns: the operating system places the threads";
    for (placement, switch, words) in
        [(bound, "", BY_TURNS), ("", "", BY_THE_OS), (bound, "interleave = \"off\"\n", "")]
    {
        let load = format!("name = \"s\"\n[workload]\nname = \"point_select\"\n{placement}");
        let study = world.study(&format!("{load}[decide]\na = \"aslr=off\"\nb = \"aslr=on\"\n{switch}"));
        let out = one_line(&world.exits(0, &["run", &study, "--dry-run"]).0);
        assert!(out.contains(words) && (out.contains("by turns") != words.is_empty()), "{out}");
    }
    let floats = ["ab", "--a", "placement=float", "--b", "placement=same-pu"];
    refused(&floats, "the operating system places the threads");
    let measure = |sample_s: f64| {
        let _ = std::fs::remove_dir_all(world.path("results"));
        let (sample, budget) = (format!("sampling.sample_s={sample_s}"), format!("{}s", 10.0 * sample_s));
        let short = ["--set", &sample, "--set", "sampling.warmup_s=0.1", "--set", "workload.rows=1000"];
        let all = [&sides[..], &["--json", "--out", "results", "--budget", &budget], &short, &QUIET].concat();
        json(&String::from_utf8(world.output(&all).stdout).unwrap())
    };
    // On a busy machine, a server may get no time for as long as a short sample.
    let (short_s, long_s) = (0.4, 3.0);
    let short = measure(short_s);
    let (sample_s, found) = if short["lost_pairs"] == 0 { (short_s, short) } else { (long_s, measure(long_s)) };
    assert!(found["interleaved"] == true && found["lost_pairs"] == 0 && found["pairs"].as_u64() >= Some(1), "{found}");
    let records = trials(&world.path("results"));
    records.chunks_exact(2).for_each(|pair| take_turns(&pair[0], &pair[1], sample_s));
    // As if the machine had given one server no time while the other ran.
    let apart = records.into_iter().map(|mut record| {
        if record["levels"]["side"] == "b" {
            record["samples"][0]["started_at"] = "2001-01-01T00:00:00Z".into();
        }
        format!("{record}\n")
    });
    std::fs::write(world.path("results/trials.jsonl"), apart.collect::<String>()).unwrap();
    let (_, err) = world.exits(4, &["ab", "--resume", "results"]);
    assert!(err.contains("the trials of a pair did not run at the same time"), "{err}");
    world.assert_clean();
}

/// Each trial of a pair has a sample of `sample_s` seconds, and waits in it while the other measures.
pub(super) fn take_turns(a: &Value, b: &Value, sample_s: f64) {
    assert_eq!(a["block"], b["block"]);
    let of = |record: &Value| {
        let samples = record["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 1, "{record}");
        let seconds = |value: &Value| value.as_f64().unwrap();
        (seconds(&samples[0]["elapsed_s"]), seconds(&samples[0]["covariates"]["elapsed_s"]))
    };
    let ((a_s, around_a_s), (b_s, around_b_s)) = (of(a), of(b));
    assert!(a_s >= sample_s && b_s >= sample_s, "{a_s} {b_s}");
    // All turns of the other trial except one lie between a trial's own turns.
    let both_s = 0.9 * (a_s + b_s);
    assert!(around_a_s > both_s && around_b_s > both_s, "{a_s} {b_s} {around_a_s} {around_b_s}");
}

/// The server of one side dies, or its rows vanish: the other side's trial ends, and later pairs are measured.
#[test]
fn a_server_that_dies_or_loses_its_rows_in_a_turn_costs_only_its_pair() {
    let dies = |world: &World| {
        let servers = || {
            let all = world.processes().into_iter();
            all.filter(|pid| words_of(*pid).contains(&"sqlite-server".to_owned())).collect::<Vec<_>>()
        };
        wait_until("two servers", 60, || servers().len() == 2);
        std::thread::sleep(Duration::from_millis(800));
        send(servers()[0], Signal::KILL);
    };
    let loses_its_rows = |world: &World| {
        let run = world.path("run");
        let sockets = || {
            let all = names(&run).into_iter().map(|name| run.join(name).join("sqlite.sock"));
            all.filter(|socket| socket.exists()).collect::<Vec<_>>()
        };
        wait_until("two servers", 60, || sockets().len() == 2);
        std::thread::sleep(Duration::from_millis(800));
        let target = ConnectTarget::to(Address::Socket(sockets()[0].clone()), "");
        Sqlite.connect(&target).unwrap().run("DELETE FROM sbtest1").unwrap();
    };
    let happens: [&dyn Fn(&World); 2] = [&dies, &loses_its_rows];
    for (happens, reason) in happens.into_iter().zip(["", "answered with 0 rows"]) {
        let world = World::new();
        let short = ["--set", "sampling.sample_s=0.8", "--set", "sampling.warmup_s=0.1", "--set", "workload.rows=1000"];
        let sides = ["ab", "--a", "aslr=off", "--b", "aslr=off", "--json", "--out", "results"];
        let mut ab = world.tare(&[&sides[..], &short, &QUIET].concat());
        let ab = ab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        happens(&world);
        let is_ok = |record: &Value| record["outcome"] == "ok";
        let records = || trials(&world.path("results"));
        wait_until("a pair after it", 60, || records().chunks_exact(2).any(|pair| pair.iter().all(is_ok)));
        send(ab.id(), Signal::INT);
        let output = ab.wait_with_output().unwrap();
        let (found, err) = (json(&text(&output.stdout)), text(&output.stderr));
        assert!(found["lost_pairs"].as_u64() >= Some(1) && found["pairs"].as_u64() >= Some(1), "{found}{err}");
        // The whole first pair, whose other side ended with it.
        let first: Vec<Value> = records().into_iter().filter(|record| record["block"] == 0).collect();
        let failed: Vec<&str> = first.iter().filter(|of| !is_ok(of)).filter_map(|of| of["reason"].as_str()).collect();
        assert!(first.len() == 2 && failed.iter().any(|failed| failed.contains(reason)), "{first:?}");
        world.assert_clean();
    }
}
