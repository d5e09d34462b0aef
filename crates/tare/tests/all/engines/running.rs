//! Servers that tare did not start (the test did): they are measured, never stopped, and every affinity is restored.

use crate::engines::running_support::{Theirs, engines, placed};
use crate::engines::support::{PATIENCE, Place, prepared};
use crate::support::{Moments, World, json, one_line, send, text, trials, verified, wait_for_trials, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;
use tare_cpuset::CpuSet;
use tare_engine::{Engine, Mariadb, Postgresql};
use tare_topology::Machine;

/// Threads and processes; on MySQL, `after_kill_9_of_everything_the_next_start_restores_server_affinities` binds.
#[test]
fn a_study_binds_and_verifies_threads_of_running_servers_and_restores_affinities() {
    for engine in [&Mariadb as &dyn Engine, &Postgresql] {
        let theirs = Theirs::new(engine);
        let before = theirs.owner_binds_some();
        let study = theirs.study(&placed());
        let (_, err) = theirs.world.exits(0, &["run", &study, "--out", "results"]);
        assert!(err.contains("a trial reconnects"), "{err}");
        let (shown, _) = theirs.world.exits(0, &["show", "results"]);
        assert!(one_line(&shown).contains("each a reconnection to a running server"), "{shown}");
        let last = Machine::this().unwrap().pus.last().unwrap().os_index.to_string();
        for record in trials(&theirs.world.path("results")) {
            assert_eq!(record["outcome"], "ok", "{record}");
            let sample = &record["samples"][0];
            let threads = sample["threads"].as_array().unwrap();
            let serving: Vec<_> = threads.iter().filter(|thread| thread["role"] == "server").collect();
            assert_eq!(serving.len(), 2, "{record}");
            assert!(serving.iter().all(|thread| thread["allowed_cpus"] == last.as_str()), "{record}");
            let cost = |name: &str| sample["metrics"][name].as_f64().unwrap_or_else(|| panic!("{name}: {record}"));
            assert!(cost("server_cpu_us_per_transaction") > 0.0);
            assert!(cost("server_switches_per_transaction") > 0.0);
            assert!(cost("server_written_bytes_per_transaction") >= 0.0);
            assert!(record["uncontrolled"]["server lifetime"].as_str().unwrap().contains("same server"), "{record}");
        }
        theirs.assert_as_before(&before, engine.name());
        // Affinities are restored after an error as well.
        let sets = ["--set", "sampling.trials=1", "--set", "workload.rate=5000000"];
        theirs.world.exits(4, &[&["run", &study, "--out", "failing"], &sets[..]].concat());
        theirs.assert_as_before(&before, engine.name());
    }
}

/// Captures that only read: what the server's threads sleep in, and the server's own counters (MySQL's diagnostics are
/// MariaDB's).
#[test]
fn captures_on_a_running_server_read_waits_and_change_no_setting() {
    for engine in [&Mariadb as &dyn Engine, &Postgresql] {
        let theirs = Theirs::new(engine);
        let captures = ["waits", "locks", "status", "profile"].map(|name| format!("{name} = \"on\"\n")).concat();
        let study = theirs.study(&format!("[capture]\n{captures}"));
        // PostgreSQL's processes report their statistics at most once per second.
        let sets = ["--set", "sampling.trials=1", "--set", "sampling.sample_s=1.5"];
        theirs.world.exits(0, &[&["run", &study, "--out", "results"], &sets[..]].concat());
        for record in trials(&theirs.world.path("results")) {
            assert!(record["capture_sample"]["tps"].as_f64() > Some(0.0), "{record}");
            let read = |name: &str| {
                let path = record["captures"][name].as_str().unwrap_or_else(|| panic!("{name}: {record}"));
                json(&std::fs::read_to_string(theirs.world.path("results").join(path)).unwrap())
            };
            let connections = &read("waits")["connections"];
            assert!(connections["threads"] == 2 && connections["parts"].as_array().unwrap().len() > 1, "{connections}");
            assert!(!read("status")["differences"].as_object().unwrap().is_empty());
            let missing = |name: &str| record["captures_missing"][name].as_str();
            assert!(missing("profile").is_some_and(|why| why.contains("a running server")), "{record}");
            // PostgreSQL needs no change of settings; in the others, instruments would have to be enabled.
            let sets = missing("locks").is_some_and(|why| why.contains("changes no settings"));
            assert_eq!(sets, engine.name() != "postgresql", "{record}");
        }
    }
}

#[test]
fn a_load_restores_thread_affinities_of_a_running_server_even_after_ctrl_c() {
    let theirs = Theirs::new(&Mariadb);
    let before = theirs.owner_binds_some();
    let last = Machine::this().unwrap().pus.last().unwrap().os_index;
    let server = format!("cpus:{last}");
    let placed = ["--server", &server, "--client", "cpus:0", "--bind", "thread", "--threads", "2", "--warmup", "0s"];
    let args = theirs.load(&[&placed[..], &["--time", "300ms", "--json"]].concat());
    let (out, _) = theirs.world.exits(0, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(json(&out)["server_cost"]["server_cpu_us_per_transaction"].as_f64().unwrap() > 0.0, "{out}");
    theirs.assert_as_before(&before, "after a load");
    let args = theirs.load(&[&placed[..], &["--time", "60s"]].concat());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut load = theirs.world.begin(&args);
    let bound = || theirs.affinities().values().filter(|set| **set == CpuSet::from(last)).count();
    wait_until("four bound threads", 20, || bound() >= 4);
    send(load.id(), Signal::INT);
    load.wait().unwrap();
    theirs.assert_as_before(&before, "after Ctrl-C");
}

/// `TARE_RUNNING_KILLS=50` for the full test.
#[test]
fn after_kill_9_of_everything_the_next_start_restores_server_affinities() {
    let kills: u32 = std::env::var("TARE_RUNNING_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut moments = Moments::new();
    for engine in engines() {
        let theirs = Theirs::new(engine);
        let before = theirs.owner_binds_some();
        let study = theirs.study(&placed());
        let mut left = 0;
        for kill in 0..kills {
            let wait = Duration::from_millis(150) + moments.below(Duration::from_millis(700));
            let out = format!("results-{kill}");
            let mut run = theirs.world.begin(&["run", &study, "--out", &out]);
            // On a busy machine, a random moment is mostly one before any thread was bound.
            match kill % 3 {
                0 => {
                    theirs.wait_until_bound(&mut run);
                    std::thread::sleep(if kill == 0 { Duration::ZERO } else { wait / 4 });
                }
                _ => std::thread::sleep(wait),
            }
            theirs.kill_tare();
            run.wait().unwrap();
            left += u32::from(theirs.world.path("state/affinities.jsonl").exists());
            if kill.is_multiple_of(2) {
                theirs.world.exits(0, &["restore"]);
            } else {
                let load = theirs.load(&["--server", "cpus:0", "--time", "500ms", "--warmup", "0s"]);
                theirs.world.exits(0, &load.iter().map(String::as_str).collect::<Vec<_>>());
            }
            theirs.assert_as_before(&before, &format!("{}, kill {kill} after {wait:?}", engine.name()));
        }
        println!("{}: {left} of {kills} kills left something to put back", engine.name());
        assert!(left > 0, "no kill hit a run at work: this test proves nothing");
    }
}

#[test]
fn requests_that_a_running_server_cannot_meet_are_refused_with_the_reason() {
    let theirs = Theirs::new(&Mariadb);
    let refused = |more: &str, code: i32, words: &str| {
        let study = theirs.study(more);
        let (_, err) = theirs.world.exits(code, &["run", &study, "--out", "refused"]);
        assert!(err.contains(words), "{more}: {err}");
        let _ = std::fs::remove_dir_all(theirs.world.path("refused"));
    };
    refused("[process]\naslr = \"off\"\n", 3, "a running server");
    refused("[placement]\nmemory = \"local\"\nserver = \"cpus:0\"\n", 3, "runs already");
    refused("[engine.options]\nmax_connections = 7\n", 2, "tare sets nothing on a running server");
    let (study, differ) =
        (theirs.study(""), ["--a", "option.max_connections=100", "--b", "option.max_connections=200"]);
    for more in [&["--dry-run"][..], &["--out", "refused"]] {
        let (_, err) = theirs.world.exits(2, &[&["ab", "--study", &study], &differ[..], more].concat());
        assert!(err.contains("option.max_connections differs between `side=a option.max_connections=100`"), "{err}");
        assert!(!theirs.world.path("refused").exists(), "{err}");
    }
    let (_, err) = theirs.world.exits(2, &["run", &theirs.study(""), "--set", "engine.binary=/bin/true"]);
    assert!(err.contains("not both"), "{err}");
    let nowhere = theirs.load(&["--client", "node:999"]);
    let (_, err) = theirs.world.exits(3, &nowhere.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(err.contains("node:999 does not exist") && err.contains("do now: see what this machine has"), "{err}");
    // Nothing is created on a running server; missing tables are a usage error, as with `tare load`.
    refused("[quick]\n[factors]\nrows = [7777]\n", 2, "tare creates nothing");
    if rustix::process::geteuid().is_root() {
        // As from a container: the server's numbers mean other threads there, or none.
        let contained = |more: &[&str]| {
            let load = theirs.load(&[&["--time", "300ms", "--warmup", "0s", "--json"], more].concat());
            let load: Vec<&str> = load.iter().map(String::as_str).collect();
            let namespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
            theirs.world.behind(&namespace, &load).output().unwrap()
        };
        let (measured, placed) = (contained(&[]), contained(&["--server", "cpus:0", "--bind", "thread"]));
        let (out, err) = (text(&measured.stdout), text(&measured.stderr));
        assert!(measured.status.success() && json(&out)["server_cost"].as_object().unwrap().is_empty(), "{out}{err}");
        let err = text(&placed.stdout) + &text(&placed.stderr);
        assert!(!placed.status.success() && err.contains("thread of this PID namespace"), "{err}");
    }
}

#[test]
fn a_password_is_in_no_file_argument_list_or_environment() {
    const SECRET: &str = "Zx9-not-to-be-found";
    let theirs = Theirs::new(&Mariadb);
    let mut owner = theirs.server.connect().unwrap();
    owner.run(&format!("CREATE USER 'guest'@'localhost' IDENTIFIED BY '{SECRET}'")).unwrap();
    owner.run("GRANT ALL ON sbtest.* TO 'guest'@'localhost'").unwrap();
    owner.run("GRANT PROCESS ON *.* TO 'guest'@'localhost'").unwrap();
    let study = theirs.study("");
    let user = ["run", &study, "--set", "engine.user=guest"];
    let (out, err) = theirs.world.exits(3, &[&user[..], &["--out", "without"]].concat());
    assert!(err.contains("1045"), "without it no one gets in: {out}{err}");

    theirs.run_hides(&[&user[..], &["--out", "results", "--set", "sampling.sample_s=0.3"]].concat(), SECRET);
    let sides = ["ab", "--study", &study, "--set", "engine.user=guest", "--a", "threads=1", "--b", "threads=2"];
    let mut ab = theirs.world.tare(&[&sides[..], &["--budget", "2s", "--out", "ab"]].concat());
    let ab = ab.env("TARE_PASSWORD", SECRET).output().unwrap();
    let ok = trials(&theirs.world.path("ab")).iter().filter(|record| record["outcome"] == "ok").count();
    assert!(ok >= 2, "{}{}", text(&ab.stdout), text(&ab.stderr));

    // From an option file, the only file with the password.
    let options = theirs.world.path("my.cnf");
    std::fs::write(&options, format!("[client]\nuser=guest\npassword=\"{SECRET}\"\n")).unwrap();
    let file = format!("engine.option_file={}", options.display());
    theirs.world.exits(0, &["run", &study, "--set", &file, "--out", "by-file"]);
    let load = theirs.load(&["--option-file", options.to_str().unwrap(), "--time", "50ms", "--warmup", "0s"]);
    theirs.world.exits(0, &load.iter().map(String::as_str).collect::<Vec<_>>());

    // For an account without rights to the database the error says so, and no password is requested.
    let load = theirs.load(&["--option-file", options.to_str().unwrap(), "--database", "mysql"]);
    let (_, err) = theirs.world.exits(3, &load.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(err.contains("1044") && err.contains("grant the account the rights"), "{err}");

    theirs.nothing_holds(SECRET, &options);
    let load = theirs.load(&["--password", SECRET]);
    let (_, err) = theirs.world.exits(2, &load.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(err.contains("can be read by every user") && !err.contains(SECRET), "{err}");
}

/// The owner's restart script: ends the server, starts it again on the same files, and leaves it running.
fn restart_script(theirs: &Alone) -> String {
    let folder = theirs.folder.path().display();
    let user = if rustix::process::geteuid().is_root() { "--user=root" } else { "" };
    let script = format!(
        "cd {folder}\n\
         if [ -f pid ]; then kill \"$(cat pid)\"; while kill -0 \"$(cat pid)\" 2>/dev/null; do sleep 0.05; done; fi\n\
         echo restarting\n\
         setsid {server} --no-defaults {user} --datadir={folder}/data --tmpdir={folder} --socket={folder}/s \\\n\
         --skip-networking --pid-file={folder}/pid --innodb-buffer-pool-size=32M </dev/null >>log 2>&1 &\n",
        server = theirs.program.display()
    );
    let path = theirs.folder.path().join("restart");
    std::fs::write(&path, script).unwrap();
    path.display().to_string()
}

/// A MariaDB that tare's library does not start: its owner's script does.
struct Alone {
    folder: tempfile::TempDir,
    program: std::path::PathBuf,
    world: World,
}

impl Alone {
    fn new() -> Self {
        let (place, world) = (Place::new(), World::new());
        let prepared = prepared(&Mariadb, &place, None);
        let folder = tempfile::Builder::new().prefix("tare").tempdir().unwrap();
        let copied = Command::new("cp").arg("-a").arg(prepared).arg(folder.path().join("data")).status().unwrap();
        assert!(copied.success());
        Self { folder, program: Mariadb.binary(None).unwrap().path, world }
    }

    fn pid(&self) -> Option<u32> {
        std::fs::read_to_string(self.folder.path().join("pid")).ok()?.trim().parse().ok()
    }

    /// Starts it with its owner's script, which is returned, and makes the tables.
    fn started(&self) -> String {
        let restart = restart_script(self);
        self.start(&restart);
        let socket = self.folder.path().join("s").display().to_string();
        self.world.exits(0, &["load", "point_select", "--socket", &socket, "--rows", "500", "--prepare"]);
        restart
    }

    fn start(&self, restart: &str) {
        assert!(Command::new("sh").arg(restart).status().unwrap().success());
        let answers = || std::os::unix::net::UnixStream::connect(self.folder.path().join("s")).is_ok();
        wait_until("a server that its owner starts", PATIENCE.as_secs(), answers);
    }

    /// `restart` is a line of the study.
    fn study(&self, restart: &str, more: &str) -> String {
        let socket = self.folder.path().join("s");
        self.world.study(&format!(
            "name = \"restarted\"\n[engine]\nname = \"mariadb\"\nsocket = \"{}\"\n{restart}\n\
             start_timeout_s = 60\n[workload]\nrows = 500\nthreads = 2\n\
             [sampling]\ntrials = 3\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\n{more}",
            socket.display()
        ))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            send(pid, Signal::KILL);
        }
    }
}

#[test]
fn a_study_restarts_a_running_server_before_each_trial_by_its_owners_command() {
    let theirs = Alone::new();
    let restart = theirs.started();
    let study = theirs.study(&format!("restart = [\"sh\", \"{restart}\"]"), &placed());
    let (plan, _) = theirs.world.exits(0, &["run", &study, "--dry-run"]);
    let (_, err) = theirs.world.exits(0, &["run", &study, "--out", "results"]);
    for reported in [plan, err] {
        assert!(one_line(&reported).contains("each trial restarts the server with `sh "), "{reported}");
    }
    let mut lives = std::collections::BTreeSet::new();
    for record in trials(&theirs.world.path("results")) {
        assert_eq!(record["outcome"], "ok", "{record}");
        let proof = verified(&record, "restart");
        assert!(proof.contains("ended, process ") && proof.ends_with("answers"), "{proof}");
        assert!(record["uncontrolled"].get("server lifetime").is_none(), "each trial has a server of its own");
        let serving = record["samples"][0]["threads"].as_array().unwrap().iter().find(|t| t["role"] == "server");
        lives.insert(serving.unwrap_or_else(|| panic!("{record}"))["pid"].as_u64().unwrap());
    }
    assert_eq!(lives.len(), 3, "three trials, three servers");
    let (shown, _) = theirs.world.exits(0, &["show", "results"]);
    assert!(one_line(&shown).contains("each a restart of the server by its owner's command"), "{shown}");
    let last = theirs.pid().unwrap();
    assert!(crate::engines::support::runs(last), "it goes on");
    let logs = crate::support::names(&theirs.world.path("results/logs"));
    let log = logs.iter().find(|name| name.starts_with("restart-")).unwrap_or_else(|| panic!("{logs:?}"));
    let printed = std::fs::read_to_string(theirs.world.path("results/logs").join(log)).unwrap();
    assert!(printed.contains("restarting"), "{printed}");

    // Commands that do not restart the server.
    for (restart, words) in [
        ("[\"true\"]".to_owned(), "and was not restarted"),
        ("[\"sh\", \"-c\", \"echo no; exit 7\"]".to_owned(), "exit status: 7"),
        ("[\"/nonexistent/restart\"]".to_owned(), "cannot be run"),
        (format!("[\"sh\", \"-c\", \"kill $(cat {}/pid)\"]", theirs.folder.path().display()), "no answer within 1 s"),
    ] {
        let study = theirs.study(&format!("restart = {restart}"), "");
        let one = ["--set", "sampling.trials=1", "--set", "engine.start_timeout_s=1", "--out", "failing"];
        let (_, err) = theirs.world.exits(4, &[&["run", &study][..], &one].concat());
        assert!(err.contains(words), "{restart}: {err}");
        std::fs::remove_dir_all(theirs.world.path("failing")).unwrap();
    }
}

#[test]
fn a_run_ends_at_once_when_its_running_server_has_died_and_goes_on_when_it_is_back() {
    let theirs = Alone::new();
    let restart = theirs.started();
    let sets = ["--set", "sampling.trials=3", "--set", "sampling.attempts=1", "--set", "sampling.sample_s=2"];
    let results = theirs.world.path("results");
    let mut run = theirs.world.tare(&[&["run", &theirs.study("", ""), "--out", "results"], &sets[..]].concat());
    let run = run.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_trials(&results, 1);
    // The next trial is at work.
    std::thread::sleep(Duration::from_secs(1));
    send(theirs.pid().unwrap(), Signal::KILL);
    let ended = run.wait_with_output().unwrap();
    let err = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{err}");
    let socket = theirs.folder.path().join("s");
    // It may have died between accepting the connection and answering.
    let told = |err: &str| {
        assert!(err.contains("cannot be reached: ") && err.contains(socket.to_str().unwrap()), "{err}");
        assert!(err.contains("do now: start the server, then: tare run --resume results"), "{err}");
    };
    told(&err);
    let before = trials(&results);
    let all_ok = |records: &[Value]| records.iter().all(|record| record["outcome"] == "ok");
    assert!(all_ok(&before) && before.len() < 3, "the trial at work is run again: {before:?}");
    told(&theirs.world.exits(3, &["run", "--resume", "results"]).1);
    theirs.start(&restart);
    theirs.world.exits(0, &["run", "--resume", "results"]);
    let all = trials(&results);
    assert!(all_ok(&all) && all.len() == 3, "{all:?}");
}

#[test]
fn a_server_with_a_thread_pool_is_refused_only_if_threads_are_placed() {
    let theirs = Theirs::with(&Mariadb, |request| {
        request.options.insert("thread_handling".into(), "pool-of-threads".into());
    });
    let (_, err) = theirs.world.exits(4, &["run", &theirs.study(&placed()), "--out", "refused"]);
    assert!(err.contains("thread_handling=pool-of-threads") && err.contains("one-thread-per-connection"), "{err}");
    theirs.world.exits(0, &["run", &theirs.study(""), "--out", "left-alone"]);
}

#[test]
fn parallel_workers_are_recognised_and_refused_next_to_a_placed_connection() {
    let theirs = Theirs::with(&Postgresql, |request| {
        let version = Postgresql.binary(None).unwrap().version;
        let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap();
        let always = if major < 16 { "force_parallel_mode" } else { "debug_parallel_query" };
        request.options.insert(always.into(), "on".into());
    });
    // Each query has a parallel worker.
    let (_, err) = theirs.world.exits(4, &["run", &theirs.study(&placed()), "--out", "refused"]);
    assert!(err.contains("parallel worker") && err.contains("max_parallel_workers_per_gather = 0"), "{err}");
    theirs.world.exits(0, &["run", &theirs.study(""), "--out", "left-alone", "--set", "sampling.sample_s=1"]);
    let records = trials(&theirs.world.path("left-alone"));
    let names = |class: &str| -> std::collections::BTreeSet<String> {
        let threads = records.iter().flat_map(|record| record["samples"][0]["threads"].as_array().unwrap());
        let of_class = threads.filter(|thread| thread["role"] == class);
        of_class.map(|thread| thread["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names("background").contains("parallel worker"), "{:?}", names("background"));
    // Names must not show the users of connections.
    assert!(names("server").iter().all(|name| name == "postgres"), "{:?}", names("server"));
}
