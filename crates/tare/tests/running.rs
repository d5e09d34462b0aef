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
            std::thread::sleep(wait);
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
