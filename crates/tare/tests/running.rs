//! Servers that somebody else runs (here: the test): measured, never stopped, and with every affinity as before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "engine_support/mod.rs"]
mod engine_support;
mod support;

use engine_support::{Place, binary_of, prepared};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, SystemTime};
use support::{World, json, trials};
use tare::subject::Subject;
use tare_engine::{Engine, Mariadb, Mysql, Postgresql, Server, ThreadRef};
use tare_topology::bind::{affinity_of, bind_thread};
use tare_topology::{CpuSet, Machine};

const TABLES: [&str; 4] = ["--tables", "1", "--rows", "500"];

/// A server of the test's own, with sbtest's table: to tare it is somebody else's.
struct Theirs {
    server: Box<dyn Server>,
    world: World,
    engine: &'static str,
    _place: Place,
}

impl Theirs {
    fn new(engine: &dyn Engine) -> Self {
        let (place, world) = (Place::new(), World::new());
        let binary = binary_of(engine);
        let data = prepared(engine, &place, binary.as_deref());
        let server = engine.start(&place.start_request(&data, binary.as_deref())).unwrap();
        let theirs = Self { server, world, engine: engine.name(), _place: place };
        theirs.world.exits(0, &theirs.load(&["--prepare"]).iter().map(String::as_str).collect::<Vec<_>>());
        theirs
    }

    fn load(&self, more: &[&str]) -> Vec<String> {
        let socket = self.server.address().to_string();
        let to = ["load", "point_select", "--engine", self.engine, "--socket", &socket];
        to.iter().chain(&TABLES).chain(more).map(ToString::to_string).collect()
    }

    /// Where every thread of the server may run now.
    fn affinities(&self) -> BTreeMap<ThreadRef, CpuSet> {
        let subject = Subject::running(Some(self.server.pid().cast_signed()));
        let threads = subject.threads().unwrap().into_iter();
        threads.filter_map(|thread| Some((thread, affinity_of(thread).ok()?))).collect()
    }

    /// The owner has put two of its threads somewhere; what is found there is what must come back.
    fn owner_binds_some(&self) -> BTreeMap<ThreadRef, CpuSet> {
        let last = Machine::this().unwrap().pus.last().unwrap().os_index;
        let own = self.server.pid().cast_signed();
        let others: Vec<ThreadRef> = self.affinities().into_keys().filter(|thread| thread.tid != own).collect();
        for thread in others.iter().take(2) {
            bind_thread(*thread, &CpuSet::from(last)).unwrap();
        }
        self.affinities()
    }

    /// Threads that were there have what they had; those that came have what the first one has.
    fn assert_as_before(&self, before: &BTreeMap<ThreadRef, CpuSet>, when: &str) {
        let first = before[&ThreadRef::main_of(self.server.pid().cast_signed())].clone();
        for (thread, now) in self.affinities() {
            assert_eq!(now, *before.get(&thread).unwrap_or(&first), "{when}: {thread}");
        }
        assert!(self.server.connect().is_ok(), "{when}: it goes on");
    }

    fn study(&self, more: &str) -> String {
        self.world.study(&format!(
            "name = \"theirs\"\n[engine]\nname = \"{}\"\nsocket = \"{}\"\n[workload]\nrows = 500\nthreads = 2\n\
             [sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\n{more}",
            self.engine,
            self.server.address()
        ))
    }

    /// The first kill of all is at no random moment: it must hit a run at work.
    fn wait_until_bound(&self, run: &mut std::process::Child) {
        while !self.world.path("state/affinities.jsonl").exists() {
            assert!(run.try_wait().unwrap().is_none(), "it ended without binding a thread");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills everything of tare's, and nothing of the server's owner.
    fn kill_tare(&self) {
        for pid in self.world.processes() {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name.trim() == "tare" {
                let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL); // it may have ended
            }
        }
    }
}

fn engines() -> [&'static dyn Engine; 3] {
    [&Mariadb, &Mysql, &Postgresql]
}

/// Connections on the last CPU, helpers on the first, clients on the first.
fn placed() -> String {
    let last = Machine::this().unwrap().pus.last().unwrap().os_index;
    format!("[placement]\nclient = \"cpus:0\"\nserver = \"cpus:{last}\"\nbackground = \"cpus:0\"\nbind = \"thread\"\n")
}

#[test]
fn a_study_binds_and_proves_their_threads_and_leaves_everything_as_it_was() {
    for engine in engines() {
        let theirs = Theirs::new(engine);
        let before = theirs.owner_binds_some();
        let study = theirs.study(&placed());
        let (_, err) = theirs.world.exits(0, &["run", &study, "--out", "results"]);
        assert!(err.contains("a trial is a reconnection"), "{err}");
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
        // An error on the way is a way out, too.
        theirs.world.exits(4, &["run", &study, "--out", "failing", "--set", "workload.rate=5000000"]);
        theirs.assert_as_before(&before, engine.name());
    }
}

#[test]
fn a_load_leaves_no_thread_bound_also_after_ctrl_c() {
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
    let mut load = theirs.world.tare(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while theirs.affinities().values().filter(|set| **set == CpuSet::from(last)).count() < 4 {
        assert!(std::time::Instant::now() < deadline, "no thread was ever bound: {:?}", theirs.affinities());
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_raw(load.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    load.wait().unwrap();
    theirs.assert_as_before(&before, "after Ctrl-C");
}

/// `TARE_RUNNING_KILLS=50` for the whole of it.
#[test]
fn after_kill_9_of_everything_the_next_start_finds_their_affinities_as_before() {
    let kills: u32 = std::env::var("TARE_RUNNING_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut seed = u64::from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos()) | 1;
    println!("seed {seed}");
    for engine in engines() {
        let theirs = Theirs::new(engine);
        let before = theirs.owner_binds_some();
        let study = theirs.study(&placed());
        let mut left = 0;
        for kill in 0..kills {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let wait = Duration::from_millis(150 + (seed >> 33) % 700);
            let out = format!("results-{kill}");
            let mut run = theirs
                .world
                .tare(&["run", &study, "--out", &out])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            match kill {
                0 => theirs.wait_until_bound(&mut run),
                _ => std::thread::sleep(wait),
            }
            theirs.kill_tare();
            run.wait().unwrap();
            left += u32::from(theirs.world.path("state/affinities.jsonl").exists());
            if kill.is_multiple_of(2) {
                theirs.world.exits(0, &["restore"]);
            } else {
                let load = theirs.load(&["--server", "cpus:0", "--time", "50ms", "--warmup", "0s"]);
                theirs.world.exits(0, &load.iter().map(String::as_str).collect::<Vec<_>>());
            }
            theirs.assert_as_before(&before, &format!("{}, kill {kill} after {wait:?}", engine.name()));
        }
        println!("{}: {left} of {kills} kills left something to put back", engine.name());
        assert!(left > 0, "no kill hit a run at work: this test proves nothing");
    }
}

#[test]
fn what_cannot_be_had_of_a_running_server_is_said() {
    let theirs = Theirs::new(&Mariadb);
    let refused = |more: &str, code: i32, words: &str| {
        let study = theirs.study(more);
        let (_, err) = theirs.world.exits(code, &["run", &study, "--out", "refused"]);
        assert!(err.contains(words), "{more}: {err}");
        let _ = std::fs::remove_dir_all(theirs.world.path("refused"));
    };
    refused("[process]\naslr = \"off\"\n", 3, "one that runs already");
    refused("[placement]\nmemory = \"local\"\nserver = \"cpus:0\"\n", 3, "runs already");
    refused("[engine.options]\nmax_connections = 7\n", 4, "nothing is set on a server that runs already");
    let (_, err) = theirs.world.exits(2, &["run", &theirs.study(""), "--set", "engine.password=x"]);
    assert!(err.contains("a study holds no password") && err.contains("TARE_PASSWORD"), "{err}");
    let (_, err) = theirs.world.exits(2, &["run", &theirs.study(""), "--set", "engine.binary=/bin/true"]);
    assert!(err.contains("not both"), "{err}");
    // Nothing is made there.
    refused("[quick]\n[factors]\nrows = [7777]\n", 3, "makes nothing");
}

/// Everything below a folder as bytes, and where it stands.
fn files(folder: &std::path::Path, found: &mut Vec<(std::path::PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => found.push((path.clone(), std::fs::read(&path).unwrap_or_default())),
            _ => {}
        }
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
    assert!(err.contains("1045"), "without it nobody gets in: {out}{err}");

    // From the environment of the run, while it runs: seen in no process but the one that was given it.
    let args = [&user[..], &["--out", "results", "--set", "sampling.sample_s=1"]].concat();
    let mut run = theirs.world.tare(&args).env("TARE_PASSWORD", SECRET).stderr(Stdio::piped()).spawn().unwrap();
    let given = run.id();
    let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let (mut looks, mut trials_seen) = (0, 0);
    while run.try_wait().unwrap().is_none() {
        for pid in theirs.world.processes().into_iter().filter(|pid| *pid != given) {
            for list in ["cmdline", "environ"] {
                let text = std::fs::read(format!("/proc/{pid}/{list}")).unwrap_or_default();
                // A child that has not yet begun its own program still shows what its parent was started with.
                let forked = line(pid) == line(given) || line(pid).is_empty();
                assert!(
                    forked || !support::text(&text).contains(SECRET),
                    "{list} of {pid}: {}",
                    support::text(&line(pid))
                );
                trials_seen += usize::from(support::text(&text).contains("--password-on-stdin"));
            }
        }
        looks += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(run.wait().unwrap().success(), "{:?}", trials(&theirs.world.path("results")));
    assert!(looks > 10 && trials_seen > 0, "{looks} looks, {trials_seen} at trials");

    // From an option file, which is the one place where it stands.
    let options = theirs.world.path("my.cnf");
    std::fs::write(&options, format!("[client]\nuser=guest\npassword=\"{SECRET}\"\n")).unwrap();
    let file = format!("engine.option_file={}", options.display());
    theirs.world.exits(0, &["run", &study, "--set", &file, "--out", "by-file"]);
    let load = theirs.load(&["--option-file", options.to_str().unwrap(), "--time", "50ms", "--warmup", "0s"]);
    theirs.world.exits(0, &load.iter().map(String::as_str).collect::<Vec<_>>());

    let mut found = Vec::new();
    files(theirs.world.directory.path(), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for (path, bytes) in found.iter().filter(|(path, _)| *path != options) {
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{}", path.display());
    }
    let load = theirs.load(&["--password", SECRET]);
    let (_, err) = theirs.world.exits(2, &load.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(err.contains("can be read by every user") && !err.contains(SECRET), "{err}");
}
