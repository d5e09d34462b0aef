//! What other users of the machine and unusual names can do to a run: processes and threads of any name, a program that
//! is replaced while it runs, a prompt that no one answers.

use crate::support::{
    ControlGroup, World, json, script, send, text, thread_names, trials, wait_for_trials, wait_until, words_of,
};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const STUDY: &str = r#"
name = "among-others"
[workload]
rows = 200
[sampling]
trials = 3
warmup_s = 0.05
sample_s = 0.3
seed = 5
[placement]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
[capture]
waits = "on"
"#;

/// `tare` under another name.
fn under(world: &World, name: &str) -> PathBuf {
    let (own, named) = (Path::new(env!("CARGO_BIN_EXE_tare")), world.path(name));
    // A link needs no space, if both are on one file system.
    fs::hard_link(own, &named).or_else(|_| fs::copy(own, &named).map(drop)).unwrap();
    named
}

/// Runs `program` in the world like `tare`.
fn started(world: &World, program: &Path, args: &[&str]) -> Child {
    let mut command = world.command(program);
    command.args(world.tare(args).get_args());
    command.stdout(Stdio::null()).stderr(fs::File::create(world.path("err")).unwrap()).spawn().unwrap()
}

fn printed(world: &World) -> String {
    text(&fs::read(world.path("err")).unwrap())
}

/// The kernel keeps 15 bytes of a name, and may cut it within a character.
#[test]
fn a_program_whose_name_is_not_utf_8_is_bound_and_measured() {
    let world = World::new();
    let study = world.study(STUDY);
    let program = under(&world, "tare-measured-é");
    let mut run = started(&world, &program, &["run", &study, "--out", "results"]);
    assert_eq!(run.wait().unwrap().code(), Some(0), "{}", printed(&world));
    let records = trials(&world.path("results"));
    assert!(records.len() == 3 && records.iter().all(|record| record["outcome"] == "ok"), "{records:?}");
    // Read from the process that has this name.
    let is_read = |record: &Value| record["samples"][0]["covariates"]["server_swapped_bytes"].is_number();
    assert!(records.iter().all(is_read), "{records:?}");
    world.assert_clean();
}

/// First they use CPU time, so that the doctor must name them; then they only exist.
#[test]
fn processes_with_hostile_names_disturb_neither_the_doctor_nor_a_run() {
    let world = World::new();
    let study = world.study(STUDY);
    let names: [&[u8]; 4] = [b"\xff\xfe) R 1 1", b"a\nState:\tZ", b"\x1b]0;evil\x07", b"(((\\n"];
    // The doctor names programs from 1% of a CPU on.
    let some = "while :; do i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; sleep 0.03; done";
    let mut others: Vec<Child> = Vec::new();
    for name in names {
        let program = world.path("").join(OsStr::from_bytes(name));
        fs::copy("/bin/sh", &program).unwrap();
        others.push(Command::new(&program).args(["-c", some]).spawn().unwrap());
    }
    let doctor = |more: &[&str]| world.exits(0, &[&["doctor", "--spin", "0.3", "--drift", "0"][..], more].concat()).0;
    let (reported, document) = (doctor(&[]), json(&doctor(&["--json"])));
    for other in &others {
        send(other.id(), Signal::STOP);
    }
    let mut run = started(&world, Path::new(env!("CARGO_BIN_EXE_tare")), &["run", &study, "--out", "results"]);
    let code = run.wait().unwrap().code();
    for other in &mut others {
        other.kill().and_then(|()| other.wait()).unwrap();
    }
    let busy: Vec<u64> =
        document["background"].as_array().unwrap().iter().map(|user| user["pid"].as_u64().unwrap()).collect();
    assert!(others.iter().all(|other| busy.contains(&other.id().into())), "{}", document["background"]);
    assert!(!reported.contains('\u{1b}'), "{reported}");
    assert_eq!(code, Some(0), "{}", printed(&world));
    world.assert_clean();
}

/// Any user may mount a file system (fusermount) on a directory of any name.
#[test]
fn a_mount_point_with_a_non_utf_8_name_does_not_disable_control_groups() {
    let world = World::new();
    let script = "\"$0\" doctor --spin 0.01 --drift 0 --json >before; name=$(printf 'at-\\377'); mkdir $name
        mount -t tmpfs none $name || exit 77
        \"$0\" doctor --spin 0.01 --drift 0 --json >after; exit 0";
    let rights = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let mut shell = world.behind(&["unshare", rights, "sh", "-c", script], &[]);
    let output = shell.output().expect("unshare (Debian package util-linux)");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = |file: &str| {
        let document = json(&fs::read_to_string(world.path(file)).unwrap());
        let findings = document["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["name"] == "server_group").cloned().collect::<Vec<_>>()
    };
    assert!(!found("before").is_empty() && found("before") == found("after"), "{:?}", found("after"));
}

/// The kernel calls a deleted program `NAME (deleted)`: in a public directory, anyone can create a file with that name.
#[test]
fn a_run_completes_when_its_own_program_is_deleted_or_replaced() {
    for exchanged in [false, true] {
        let world = World::new();
        let study = world.study(STUDY);
        let program = under(&world, "tare-that-goes");
        let mut run = started(&world, &program, &["run", &study, "--out", "results"]);
        wait_for_trials(&world.path("results"), 1);
        fs::remove_file(&program).unwrap();
        let planted = world.path("planted");
        let place = if exchanged { program.clone() } else { world.path("tare-that-goes (deleted)") };
        script(&place, &format!("touch {}", planted.display()));
        let code = run.wait().unwrap().code();
        assert!(!planted.exists(), "another program was run: {}", printed(&world));
        assert_eq!(code, Some(0), "{}", printed(&world));
        let records = trials(&world.path("results"));
        assert!(records.len() == 3 && records.iter().all(|record| record["outcome"] == "ok"), "{records:?}");
    }
}

/// The server is identified after the samples, when its path may lead to another program.
#[test]
fn a_server_whose_program_is_replaced_is_recorded_as_the_program_that_ran() {
    let world = World::new();
    let program = under(&world, "server");
    let engine = format!("[engine]\nname = \"sqlite\"\nbinary = \"{}\"\n", program.display());
    let study = world.study(&format!("{STUDY}{engine}"));
    world.exits(0, &["run", &study, "--out", "first", "--set", "sampling.trials=1"]);
    let first = trials(&world.path("first")).swap_remove(0);
    // Another build: build id and content differ.
    let number = first["server"]["build_id"].as_str().unwrap();
    let digit = |at: usize| u8::from_str_radix(&number[at..at + 2], 16).unwrap();
    let number: Vec<u8> = (0..number.len()).step_by(2).map(digit).collect();
    let mut other = fs::read(&program).unwrap();
    let place = other.windows(number.len()).position(|bytes| bytes == number).unwrap();
    other[place] ^= 1;
    let planted = world.path("planted");
    fs::write(&planted, other).unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = started(&world, Path::new(env!("CARGO_BIN_EXE_tare")), &["run", &study, "--out", "results"]);
    let log = world.path("results/logs/server-00000-1.log");
    wait_until("a server was started", 60, || log.exists());
    let runs = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|found| found == program);
    wait_until("a server runs", 60, || world.processes().iter().any(runs));
    fs::rename(&planted, &program).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0), "{}", printed(&world));
    let records = trials(&world.path("results"));
    let ran = |record: &Value| (record["server_program"].clone(), record["server"]["build_id"].clone());
    assert_eq!(ran(&records[0]), ran(&first));
    assert!(records[1..].iter().all(|record| ran(record).0 != ran(&first).0 && ran(record).1 != ran(&first).1));
}

/// Each run of this client replaces its own program: a script, whose process is the shell.
#[test]
fn a_replaced_client_program_is_reported_and_fails_a_trial_that_ran_both() {
    let world = World::new();
    let client = world.path("client");
    let study = |samples: u32| {
        let study = format!(
            "name = \"exchanged\"\n[workload]\nname = \"command\"\ncommand = \"{}\"\n\
             [sampling]\ntrials = 2\nsamples = {samples}\nattempts = 1\nwarmup_s = 0\n",
            client.display()
        );
        world.study(&study)
    };
    let puts_in_place = format!("echo '#!/bin/sh' >next; chmod +x next; mv next {}", client.display());
    script(&client, &puts_in_place);
    let (_, err) = world.exits(4, &["run", &study(2), "--out", "in-a-trial"]);
    let records = trials(&world.path("in-a-trial"));
    let reason = records[0]["reason"].as_str().unwrap();
    assert!(reason.contains("client's program file was replaced"), "{reason}: {err}");
    assert_eq!(records[1]["outcome"], "ok", "all its samples are of the second");
    script(&client, &puts_in_place);
    let (out, _) = world.exits(0, &["run", &study(1), "--out", "between"]);
    let of = |folder: &str, trial: usize| trials(&world.path(folder))[trial]["client_programs"].clone();
    assert_eq!(of("between", 1), of("in-a-trial", 1), "the same program has the same digest");
    assert_ne!(of("between", 0), of("between", 1));
    assert!(out.contains("ran on more than one client program"), "{out}");
}

#[test]
fn sigterm_ends_a_password_prompt_and_restores_the_terminal_echo() {
    let world = World::new();
    let study = world.study(STUDY);
    let tare = world.tare(&["run", &study, "--out", "results", "--ask-password"]);
    let words: Vec<String> = tare.get_args().map(|word| format!("'{}'", word.display())).collect();
    let line = format!("'{}' {}; echo code $?; stty -a", tare.get_program().display(), words.join(" "));
    let mut terminal = world.command("python3");
    terminal.args(["-c", "import pty, sys; pty.spawn(['sh', '-c', sys.argv[1]])", &line]);
    // Its input stays open, because the end of the input would count as an answer.
    let output = fs::File::create(world.path("said")).unwrap();
    let mut terminal = terminal.stdin(Stdio::piped()).stdout(output).stderr(Stdio::null()).spawn().unwrap();
    let printed = || text(&fs::read(world.path("said")).unwrap_or_default());
    wait_until("it asks", 30, || printed().contains("password: "));
    for pid in world.processes() {
        let words = words_of(pid);
        if words.iter().any(|word| word == "--ask-password") && words[0] == env!("CARGO_BIN_EXE_tare") {
            send(pid, Signal::TERM);
        }
    }
    wait_until("it ends", 30, || printed().contains("code "));
    terminal.wait().unwrap();
    assert!(
        printed().contains("code 130") && printed().contains(" echo ") && printed().contains(" icanon"),
        "{}",
        printed()
    );
    assert!(!world.path("results").exists(), "nothing was started");
}

/// Runs a trial of one sample behind `wrapper`. In the middle of the sample `set(true, server)` freezes something for
/// 1.2 s, or longer on a busy machine. Returns why the sample was disturbed, and how long it was frozen: at least and
/// at most, because time that the hypervisor took counts as its own.
fn frozen_within_a_sample(wrapper: &[&str], set: &dyn Fn(bool, u32)) -> (String, [f64; 2]) {
    let world = World::new();
    let study = world.study(STUDY);
    let sets = [
        "sampling.trials=1",
        "sampling.attempts=1",
        "sampling.sample_s=4",
        "sampling.foreign_cpu_limit=off",
        "sampling.steal_limit=off",
    ];
    let sets = sets.iter().flat_map(|set| ["--set", *set]);
    let args: Vec<&str> = ["run", &study, "--out", "results"].into_iter().chain(sets).collect();
    let mut run = world.behind(wrapper, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let watches = |pid: u32| thread_names(pid).iter().any(|name| name == "tare-watch");
    wait_until("a sample", 60, || world.processes().into_iter().any(watches));
    let is_server = |pid: &u32| words_of(*pid).iter().any(|word| word == "sqlite-server");
    let server = world.processes().into_iter().find(is_server).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    set(true, server);
    let clock = Instant::now();
    std::thread::sleep(Duration::from_millis(1200));
    let frozen = clock.elapsed();
    set(false, server);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let record = trials(&world.path("results")).remove(0);
    assert_eq!(record["outcome"], "ok", "{record}");
    world.assert_clean();
    let of = |name: &str| record["samples"][0]["covariates"][name].as_f64().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get() as f64;
    let stolen_s = of("steal_fraction") * of("elapsed_s") * cpus;
    let frozen_s = frozen.as_secs_f64();
    (record["reason"].as_str().unwrap_or_default().to_owned(), [frozen_s - stolen_s, frozen_s])
}

/// Checks that a sample is disturbed by the time for which it was frozen, whose report begins with `begin`. A busy
/// machine looks late: one of three samples must show the time.
fn frozen_time_is_reported(wrapper: &[&str], set: &dyn Fn(bool, u32), begin: &str) {
    let mut seen = Vec::new();
    let is_reported = (0..3).any(|_| {
        let (reason, [least_s, most_s]) = frozen_within_a_sample(wrapper, set);
        let found_s = reason.split_once(begin).and_then(|(_, rest)| rest.split_once(" s")?.0.parse::<f64>().ok());
        let is_this_time = found_s.is_some_and(|found_s| (least_s - 0.2..most_s + 0.3).contains(&found_s));
        seen.push((reason, least_s, most_s));
        is_this_time
    });
    assert!(is_reported, "{seen:?}");
}

#[test]
fn a_sample_in_which_a_control_group_was_frozen_is_disturbed() {
    if !rustix::process::geteuid().is_root() {
        return; // Others may not make control groups everywhere.
    }
    let group = ControlGroup::new("freezer", &[("freezer.state", "THAWED")], &[("cgroup.freeze", "0")]);
    let group = group.expect("root can make control groups: /sys/fs/cgroup must be mounted and writable");
    let folder = Path::new(group.enter()[3]);
    let freeze_run = |on: bool, _: u32| {
        let (file, text) = match folder.join("freezer.state") {
            file if file.exists() => (file, if on { "FROZEN" } else { "THAWED" }),
            _ => (folder.join("cgroup.freeze"), if on { "1" } else { "0" }),
        };
        fs::write(file, text).unwrap();
    };
    frozen_time_is_reported(&group.enter(), &freeze_run, "sample 0: tare stood still for ");

    // Each server has a control group of its own.
    let freeze_server = |on: bool, server: u32| {
        let groups = fs::read_to_string(format!("/proc/{server}/cgroup")).unwrap();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap();
        let at = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(|top| Path::new(top).join(own).join("cgroup.freeze"));
        let file =
            at.iter().find(|file| file.exists()).unwrap_or_else(|| panic!("no group that can be frozen: {groups}"));
        fs::write(file, if on { "1" } else { "0" }).unwrap();
    };
    frozen_time_is_reported(&["env"], &freeze_server, "sample 0: the server stood still for ");
}
