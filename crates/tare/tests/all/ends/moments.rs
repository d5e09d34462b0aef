//! Ctrl-C at many moments, with the server stopped by SIGSTOP: the command must end within 3 s and leave nothing.
//!
//! `TARE_TEST_MOMENTS` is the number of moments of each kind.

use crate::support::{World, names, script, send, server_beside, text, wait_until, words_of};
use rustix::process::Signal;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Engine, Mariadb, Sqlite};

/// From Ctrl-C to the end, with reserve for a busy machine; the guarantee is 3 s.
const SOON: Duration = Duration::from_secs(5);
/// A command that was complete except for its last steps at Ctrl-C may take this long to end with success.
const COMPLETE: Duration = Duration::from_millis(500);

const STUDY: &str = "name = \"long\"\n[workload]\nrows = 2000\n[sampling]\ntrials = 3\nwarmup_s = 0\nsample_s = 300\n\
                     steal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n";

fn moments(usual: u32) -> u32 {
    std::env::var("TARE_TEST_MOMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn is_server(pid: u32) -> bool {
    let words = words_of(pid);
    let program = words.first().map_or("", String::as_str);
    words.iter().any(|word| word == "sqlite-server")
        || program.starts_with("postgres: ")
        || ["mariadbd", "mysqld", "/postgres"].iter().any(|name| program.ends_with(name))
}

fn is_trial(pid: u32) -> bool {
    words_of(pid).get(1).is_some_and(|word| word == "trial")
}

/// How long the command takes to end; it is killed if that is too long.
fn soon_over(world: &World, child: &mut Child, what: &str) -> Duration {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > SOON {
            let who = world.processes();
            send(child.id(), Signal::KILL);
            panic!("{what}: not over within {SOON:?}: {who:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// A command that must end soon after Ctrl-C.
struct Interrupted<'a> {
    world: &'a World,
    args: Vec<&'a str>,
    /// Stopped instead of the servers that the command itself starts.
    server: Option<u32>,
}

/// Used if there is no server to stop.
const NO_SERVER: u32 = 0;

impl Interrupted<'_> {
    /// Interrupts at `count` moments from the start up to `longest` later; returns how often there was a server.
    fn at_moments(&self, count: u32, longest: Duration) -> u32 {
        let (mut stopped, mut slowest) = (0, Duration::ZERO);
        for moment in 0..count {
            let (took, hit) = self.once(longest * moment / count, moment % 2 == 1);
            slowest = slowest.max(took);
            stopped += u32::from(hit);
        }
        println!("{:?}: {count} moments, {stopped} stopped servers, over after {slowest:?} at most", self.args);
        stopped
    }

    /// Returns the time from Ctrl-C to the end, and whether there was a server to stop. A trial that `hangs` is stopped
    /// as well, so that it cannot restore anything.
    fn once(&self, wait: Duration, hangs: bool) -> (Duration, bool) {
        let mut child = self.world.tare(&self.args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(wait);
        let servers = match self.server {
            Some(NO_SERVER) => Vec::new(),
            Some(pid) => vec![pid],
            None => self.world.processes().into_iter().filter(|pid| is_server(*pid)).collect(),
        };
        let also = |pid: &u32| self.args[0] == "run" && hangs && is_trial(*pid);
        for pid in servers.iter().copied().chain(self.world.processes().into_iter().filter(also)) {
            send(pid, Signal::STOP);
        }
        send(child.id(), Signal::INT);
        let took = soon_over(self.world, &mut child, &format!("{:?}, Ctrl-C after {wait:?}", self.args));
        if let Some(pid) = self.server.filter(|pid| *pid != NO_SERVER) {
            send(pid, Signal::CONT);
        }
        let output = child.wait_with_output().unwrap();
        // Before the program handles signals, the signal's default action ends it.
        let code = output.status.code();
        let was_complete = code == Some(0) && took < COMPLETE;
        assert!(
            was_complete || code == Some(130) || code.is_none(),
            "after {wait:?}: {:?}: {}",
            output.status,
            text(&output.stderr)
        );
        if self.server.is_none() {
            self.nothing_is_left(wait);
        }
        (took, !servers.is_empty())
    }

    fn nothing_is_left(&self, wait: Duration) {
        self.world.assert_clean();
        let halves = names(&self.world.path("cache")).into_iter().filter(|name| name.ends_with(".partial"));
        assert_eq!(halves.collect::<Vec<_>>(), Vec::<String>::new(), "half-made data left after {wait:?}");
        let _ = std::fs::remove_dir_all(self.world.path("results"));
    }
}

/// A run that has its data, a trial as a scheduler starts it, and a run that must always prepare its data. Moments are
/// spread over the time that a run takes here with preparing, but without its sample.
fn runs_and_trials(engine: &str, count: u32) {
    let world = World::new();
    let study = world.study(&format!("{STUDY}[engine]\nname = \"{engine}\"\n"));
    let began = Instant::now();
    world.exits(0, &["run", &study, "--out", "short", "--set", "sampling.sample_s=0.05", "--set", "sampling.trials=1"]);
    let longest = began.elapsed();
    let run = vec!["run", &study, "--out", "results"];
    let run = Interrupted { world: &world, args: run, server: None };
    let mut stopped = run.at_moments(count, longest);
    // A plan for trials without a waiting run.
    let mut long = world.begin(&run.args);
    while !world.path("results/plan.json").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    send(long.id(), Signal::INT);
    long.wait().unwrap();
    std::fs::rename(world.path("results"), world.path("plan")).unwrap();
    let trial = ["trial", "--directory", "plan", "--trial", "0", "--attempt", "1", "--writer", "w"].to_vec();
    stopped += Interrupted { world: &world, args: trial, server: None }.at_moments(count, longest);
    let records = world.path("plan/trials-w.jsonl");
    assert!(!records.exists(), "an interrupted trial leaves no record: {:?}", std::fs::read_to_string(records));
    for moment in 0..count {
        // Removes data that a previous preparation completed.
        let _ = std::fs::remove_dir_all(world.path("cache"));
        let (took, hit) = run.once(longest * moment / count, moment % 2 == 1);
        println!("preparing {engine}: over after {took:?}");
        stopped += u32::from(hit);
    }
    assert!(stopped >= count, "{stopped} servers were there to be stopped: this test proves little");
}

#[test]
fn ctrl_c_ends_runs_and_trials_on_sqlite_within_seconds() {
    runs_and_trials("sqlite", moments(4));
}

#[test]
fn ctrl_c_ends_runs_and_trials_on_mariadb_within_seconds() {
    runs_and_trials("mariadb", moments(3));
}

#[test]
fn ctrl_c_ends_runs_and_trials_on_postgresql_within_seconds() {
    runs_and_trials("postgresql", moments(3));
}

/// Clock ticks of a process in user mode.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Filling tables has no time limit, and no run watches over this trial.
#[test]
fn ctrl_c_ends_a_single_trial_whose_server_never_answers() {
    let world = World::new();
    let file = "[data]\nschema = \"CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY)\"\n\
                after = \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n\"\n\
                [[transaction]]\nname = \"look\"\nstatements = [\"SELECT id FROM t\"]\n";
    std::fs::write(world.path("endless.toml"), file).unwrap();
    let study = world.study("name = \"endless\"\n[workload]\nname = \"sql\"\nfile = \"endless.toml\"\n");
    let mut run = world.begin(&["run", &study, "--out", "plan"]);
    wait_until("there is a plan", 60, || world.path("plan/plan.json").exists());
    send(run.id(), Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let mut trial = world.begin(&["trial", "--directory", "plan", "--trial", "0", "--attempt", "0"]);
    let works = |pid| is_server(pid) && ticks(pid) > 50;
    wait_until("the server works without an end", 60, || world.processes().into_iter().any(works));
    send(trial.id(), Signal::INT);
    soon_over(&world, &mut trial, "a trial alone");
    assert_eq!(trial.wait().unwrap().code(), Some(130));
    world.assert_clean();
}

#[test]
fn ctrl_c_ends_generating_and_loading_the_dbt3_tables() {
    for engine in ["sqlite", "mariadb"] {
        let world = World::new();
        let study = world.study(&format!(
            "name = \"queries\"\n[engine]\nname = \"{engine}\"\n[workload]\nname = \"dbt3\"\nscale = 0.1\n"
        ));
        let load = Interrupted { world: &world, args: vec!["run", &study, "--out", "results"], server: None };
        let mut stopped = 0;
        for moment in 1..=moments(3) {
            let (took, hit) = load.once(Duration::from_millis(1200) * moment, moment % 2 == 1);
            println!("dbt3 on {engine}: over after {took:?}");
            stopped += u32::from(hit);
        }
        assert!(stopped > 0, "no server was there to be stopped");
    }
}

#[test]
fn ctrl_c_ends_a_run_of_the_counters_workload() {
    let world = World::new();
    let study = world.study(
        "name = \"counting\"\n[workload]\nname = \"counters\"\nrounds = 1000000\n[sampling]\ntrials = 2\n\
         steal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n",
    );
    let run = Interrupted { world: &world, args: vec!["run", &study, "--out", "results"], server: None };
    run.at_moments(moments(4), Duration::from_millis(1500));
    // Its trial too, if the run can no longer end it.
    let mut run = world.begin(&["run", &study, "--out", "killed"]);
    wait_until("a trial", 60, || world.processes().into_iter().any(is_trial));
    std::thread::sleep(Duration::from_millis(700));
    run.kill().and_then(|()| run.wait()).unwrap();
    wait_until("the end of its trial", 4, || world.processes().is_empty());
}

/// An incomplete merge is no obstacle: the same command completes it.
#[test]
fn ctrl_c_ends_a_merge_that_copies_large_files() {
    let world = World::new();
    let study =
        world.study(&format!("{STUDY}[factors]\nthreads = [1, 2]\n").replace("sample_s = 300", "sample_s = 0.05"));
    world.exits(0, &["shard", &study, "--into", "1", "--out", "shards"]);
    world.exits(0, &["run", "--shard", "shards", "0"]);
    let shard = world.path("shards/shard-0000");
    let part = names(&shard).into_iter().find(|name| !name.starts_with('.')).unwrap();
    // Sparse files, which need no space here but time to copy.
    for log in names(&shard.join(&part).join("logs")) {
        let log = std::fs::OpenOptions::new().write(true).open(shard.join(&part).join("logs").join(log)).unwrap();
        log.set_len(40 << 20).unwrap();
    }
    let args = vec!["merge", "shards", "--out", "results"];
    let merge = Interrupted { world: &world, args, server: Some(NO_SERVER) };
    for moment in 0..moments(4) {
        let (took, _) = merge.once(Duration::from_millis(15) * moment, false);
        println!("merge: over after {took:?}, with {:?}", names(&world.path("results")));
        let (_, err) = world.exits(0, &merge.args);
        assert!(err.contains("6 records of 1 part from"), "{err}");
        world.exits(0, &["show", "results"]);
        std::fs::remove_dir_all(world.path("results")).unwrap();
    }
}

/// Plans with 4,900 conditions, and with programs that do not answer when asked for their version.
#[test]
fn ctrl_c_ends_planning_of_many_conditions_and_programs() {
    let world = World::new();
    let levels = |of: &dyn Fn(usize) -> String, count| (1..=count).map(of).collect::<Vec<_>>().join(", ");
    let threads = levels(&|n| n.to_string(), 70);
    let many = world.study(&format!("{STUDY}[factors]\nthreads = [{threads}]\nrows = [{threads}]\n"));
    let args = vec!["run", &many, "--dry-run"];
    let plan = Interrupted { world: &world, args, server: Some(NO_SERVER) };
    plan.at_moments(moments(3), Duration::from_millis(2400));
    let hangs = world.path("mariadbd");
    script(&hangs, "sleep 600");
    let program = |n: usize| {
        let link = world.path(&format!("mariadbd-{n}"));
        std::os::unix::fs::symlink(&hangs, &link).unwrap();
        format!("\"{}\"", link.display())
    };
    let programs = levels(&program, 300);
    let many = world.study(&format!("{STUDY}[factors]\nbinary = [{programs}]\n"));
    let run = Interrupted { world: &world, args: vec!["run", &many, "--out", "results"], server: None };
    run.at_moments(moments(2), Duration::from_millis(1600));
}

/// A read of /proc/kmsg waits for the next message of the kernel, so copying it may take any time.
#[test]
fn ctrl_c_ends_a_slow_copy_of_a_program() {
    let world = World::new();
    let args = vec!["ab", "--certify", "--a", "command=/proc/kmsg", "--budget", "1s", "--out", "results"];
    let certify = Interrupted { world: &world, args, server: Some(NO_SERVER) };
    let count = moments(3);
    for moment in 0..count {
        certify.once(Duration::from_millis(900) * moment / count, false);
        world.assert_clean();
        assert!(!world.path("results").exists(), "nothing was measured");
    }
}

#[test]
fn ctrl_c_ends_a_load_and_its_preparation() {
    for engine in [&Sqlite as &dyn Engine, &Mariadb] {
        let world = World::new();
        let server = server_beside(&world, engine);
        let socket = server.address().to_string();
        let base = ["load", "read_write", "--engine", engine.name(), "--socket", &socket, "--rows", "20000"];
        let with = |more: &[&'static str]| [&base[..], more].concat();
        let (count, longest, pid) = (moments(4), Duration::from_millis(900), Some(server.pid()));
        let load = with(&["--time", "3600s", "--warmup", "0s", "--threads", "2"]);
        let prepare = with(&["--prepare"]);
        world.exits(0, &prepare);
        Interrupted { world: &world, args: load, server: pid }.at_moments(count, longest);
        world.exits(0, &with(&["--cleanup"]));
        for moment in 0..count {
            let once = Interrupted { world: &world, args: prepare.clone(), server: pid };
            once.once(Duration::from_millis(400) * moment / count, false);
            world.exits(0, &with(&["--cleanup"]));
        }
    }
}

/// The signal is delivered to another thread than the waiting one, so it interrupts no system call.
#[test]
fn sigterm_ends_a_consistency_check_that_waits_for_a_table() {
    let world = World::new();
    let server = server_beside(&world, &Mariadb);
    let socket = server.address().to_string();
    let args = |command| ["load", "tpcc", command, "--engine", "mariadb", "--socket", &socket, "--scale", "0.01"];
    world.exits(0, &args("prepare"));
    let mut session = server.connect().unwrap();
    // The first seven conditions do not read this table.
    session.run("LOCK TABLES history WRITE").unwrap();
    let mut check = world.begin(&args("check"));
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'";
    wait_until("it waits for the table", 60, || session.query(waiting).unwrap()[0][0].as_deref() == Some("1"));
    let is_listener = |tid: &String| {
        let name = std::fs::read_to_string(format!("/proc/{}/task/{tid}/comm", check.id()));
        name.is_ok_and(|name| name.trim() == "signals")
    };
    let listener = names(Path::new(&format!("/proc/{}/task", check.id()))).into_iter().find(is_listener).unwrap();
    send(listener.parse().unwrap(), Signal::TERM);
    soon_over(&world, &mut check, "a look whether tables are consistent");
    assert_eq!(check.wait().unwrap().code(), Some(130));
}

/// A second Ctrl-C and SIGTERM work like the first; and the load also ends without any signal.
#[test]
fn a_load_whose_server_stops_answering_ends_by_any_signal_and_by_itself() {
    let world = World::new();
    let server = server_beside(&world, &Sqlite);
    let socket = server.address().to_string();
    let base = ["load", "point_select", "--engine", "sqlite", "--socket", &socket, "--rows", "1000", "--warmup", "0s"];
    world.exits(0, &[&base[..], &["--prepare"]].concat());
    let began_without_answer = |time: &str| {
        let mut load = world.tare(&[&base[..], &["--time", time]].concat());
        let load = load.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        send(server.pid(), Signal::STOP);
        load
    };
    for signals in [&[Signal::TERM][..], &[Signal::INT, Signal::INT, Signal::INT, Signal::TERM]] {
        let mut load = began_without_answer("3600s");
        std::thread::sleep(Duration::from_millis(100));
        let began = Instant::now();
        for signal in signals {
            send(load.id(), *signal);
            std::thread::sleep(Duration::from_millis(20));
        }
        let code = load.wait().unwrap().code();
        assert!(began.elapsed() < SOON, "{signals:?}: over after {:?}", began.elapsed());
        assert_eq!(code, Some(130), "{signals:?}");
        send(server.pid(), Signal::CONT);
    }
    // After the requested time, the load waits half a minute for answers.
    let (began, load) = (Instant::now(), began_without_answer("1s"));
    let output = load.wait_with_output().unwrap();
    send(server.pid(), Signal::CONT);
    let err = text(&output.stderr);
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}: {err}", began.elapsed());
    assert!(output.status.code() == Some(4) && err.contains("the server does not answer"), "{err}");
    assert!(err.contains("of the server is stopped"), "{err}");
}

#[test]
fn a_second_ctrl_c_ends_a_run_at_once_whatever_hangs() {
    let world = World::new();
    let study = world.study(STUDY);
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    let log = world.path("results/logs/server-00000-1.log");
    wait_until("a trial", 60, || log.exists() && world.processes().into_iter().any(is_server));
    for pid in world.processes().into_iter().filter(|pid| *pid != run.id()) {
        send(pid, Signal::STOP);
    }
    send(run.id(), Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    send(run.id(), Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    println!("over {:?} after the second", began.elapsed());
    // The guarantee is 1 s.
    assert!(began.elapsed() < Duration::from_millis(1800), "{:?}", began.elapsed());
    world.assert_clean();
}

#[test]
fn a_program_that_does_not_print_its_version_is_reported_and_ends_with_ctrl_c() {
    let world = World::new();
    let hangs = world.path("mariadbd");
    // The helper's command line names this world, so that the test finds a helper that was left.
    script(&hangs, &format!("setsid sh -c 'sleep 600; : {}' & wait", world.directory.path().display()));
    let study = world.study(&format!("{STUDY}[engine]\nname = \"mariadb\"\nbinary = \"{}\"\n", hangs.display()));
    let run = vec!["run", &study, "--out", "results"];
    // Without a name, the engine is the one in the user's configuration.
    std::fs::create_dir_all(world.path("config/tare")).unwrap();
    let config = format!("[engines]\nmariadb = \"{}\"\n", hangs.display());
    std::fs::write(world.path("config/tare/config.toml"), config).unwrap();
    let studies = vec!["studies", "--engines", "--under", "."];
    for args in [studies, vec!["doctor"], vec!["setup", "mariadb"], vec!["shard", &study, "--into", "1"], run.clone()] {
        Interrupted { world: &world, args, server: None }.at_moments(3, Duration::from_millis(1500));
    }
    let (_, err) = world.exits(3, &run);
    assert!(err.contains("does not answer") && err.contains("within 10 s"), "{err}");
    world.assert_clean();
}
