//! Cache lines that cores take from each other, with a fake perf: most test machines do not sample memory accesses.

use crate::support::{World, json, one_line, script, trials};
use std::path::Path;
use tare_results::cache_lines::NO_SAMPLING;

const STUDY: &str = "name = \"lines\"\n[workload]\nrows = 100\n[capture]\nlines = \"on\"\n[sampling]\ntrials = 1\n\
                     warmup_s = 0\nsample_s = 0.2\n[factors]\nthreads = [1, 2]\n";

/// For every child process of the trial, including the server: eight bytes that one thread writes and another reads on
/// a CPU of another node, and a line of the kernel that occurs once.
const PERF: &str = r#"
case "$1" in
mem)
    while [ $# -gt 0 ]; do
        case "$1" in --control) control=$2 ;; -o) data=$2 ;; esac
        shift
    done
    cat /proc/$PPID/task/*/children > "$data"
    trap 'exit 0' INT
    echo ack > "${control#*,}"
    while :; do sleep 0.05; done ;;
script)
    for last; do :; done
    for pid in $(cat "$last"); do
        for n in 1 2 3; do
            echo "$pid/1 [000] 1f0000005048 144 |OP STORE|LVL L1 hit 55fcdb203db2 planted_write(int) (/m)"
            echo "$pid/2 [001] 1f0000005048 808042 |OP LOAD|LVL Remote 55fcdb203db2 planted_read (/m)"
        done
        echo "$pid/2 [001] ffff888100000000 800842 |OP LOAD|LVL L3 hit ffffffff81001000 planted_lock ([kernel.kallsyms])"
    done
    echo "no access" ;;
esac
"#;

#[test]
fn a_shared_cache_line_is_reported_with_both_functions_in_every_output() {
    let world = World::new();
    let study = world.study(STUDY);
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    script(&fake.join("perf"), PERF);
    let path = format!("{}:/usr/bin:/bin", fake.display());
    let output = world.tare(&["run", &study, "--out", "results"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::support::text(&output.stderr));
    for record in trials(&world.path("results")) {
        let lines = &record["capture_sample"]["lines"];
        assert_eq!((&lines["loads"], &lines["stores"]), (&4.into(), &3.into()), "{record}");
        let first = &lines["lines"][0];
        assert_eq!((&first["address"], &first["sharing"]), (&"0x1f0000005040".into(), &"same_word".into()), "{lines}");
        assert_eq!((&first["found_remote"], &first["accesses"][0]["offset"]), (&3.into(), &8.into()), "{lines}");
        assert_eq!((&lines["lines"][1]["name"], &lines["lines"][1]["found_local"]), (&"kernel".into(), &1.into()));
        assert!(record["captures_missing"].get("lines").is_none(), "{record}");
    }
    let sentence = "is written by planted_write on node 0 and read by planted_read";
    let (shown, _) = world.exits(0, &["show", "results"]);
    assert!(one_line(&shown).contains(sentence) && one_line(&shown).contains("4 of 4 sampled loads"), "{shown}");
    let (shown, _) = world.exits(0, &["show", "results", "--json"]);
    let shown = json(&shown);
    let named = &shown["captures"][0]["lines"]["lines"][0]["read_by"][0]["function"];
    assert_eq!(named, "planted_read", "{}", shown["captures"]);
    let sides = ["results:threads=1", "results:threads=2"];
    let (why, _) = world.exits(0, &["why", sides[0], sides[1]]);
    assert!(one_line(&why).contains(sentence), "{why}");
    let (why, _) = world.exits(0, &["why", sides[0], sides[1], "--json"]);
    assert_eq!(json(&why)["difference"]["lines"][1]["lines"][0]["counts"], serde_json::Value::Null, "counts are flat");
    assert_eq!(json(&why)["difference"]["lines"][1]["lines"][0]["found_remote"], 3, "{why}");
    // A single condition shows its own lines only.
    let (alone, _) = world.exits(0, &["why", sides[0]]);
    assert!(one_line(&alone).contains(sentence) && !alone.contains("threads=2"), "{alone}");
    let (alone, _) = world.exits(0, &["why", "results", "--json"]);
    assert_eq!(json(&alone)["captures"][1]["lines"]["lines"][0]["found_remote"], 3, "{alone}");
    world.exits(0, &["report", "results"]);
    let page = std::fs::read_to_string(world.path("results/report.html")).unwrap();
    assert!(page.contains(sentence) && page.contains("planted_lock_[k]"), "not on the page");
    world.assert_clean();
}

#[test]
fn a_processor_without_access_sampling_is_reported_in_the_plan_and_the_record() {
    let source = |name: &str| Path::new("/sys/bus/event_source/devices").join(name).exists();
    if ["cpu/events/mem-loads", "cpu_core/events/mem-loads", "ibs_op", "arm_spe_0"].into_iter().any(source) {
        return;
    }
    let world = World::new();
    let study = world.study(STUDY);
    let (out, err) = world.exits(0, &["run", &study, "--dry-run"]);
    assert!(one_line(&(out + &err)).contains(&format!("capture.lines: {NO_SAMPLING}")), "not said before");
    // perf's message on such a machine; only the capture of lines is missing.
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    script(&fake.join("perf"), "echo 'failed: memory events not supported' >&2\nexit 255");
    let path = format!("{}:/usr/bin:/bin", fake.display());
    let output = world.tare(&["run", &study, "--out", "results"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::support::text(&output.stderr));
    let record = &trials(&world.path("results"))[0];
    assert_eq!(record["captures_missing"]["lines"], NO_SAMPLING, "{record}");
    world.assert_clean();
}
