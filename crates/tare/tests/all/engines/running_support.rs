//! Shared by tests of running servers: a server that the test starts and that tare did not start.

use crate::engines::support::{Place, binary_of, prepared};
use crate::support::{World, kill_at_once, text};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread};
use tare_drive::sut::SystemUnderTest;
use tare_engine::{Address, Engine, Mariadb, Mysql, Postgresql, Server, StartRequest};
use tare_topology::Machine;

const TABLES: [&str; 4] = ["--tables", "1", "--rows", "500"];

/// A server with sbtest's table that belongs to the test and not to tare.
pub struct Theirs {
    pub server: Box<dyn Server>,
    pub world: World,
    pub engine: &'static str,
    _place: Place,
}

impl Theirs {
    pub fn new(engine: &dyn Engine) -> Self {
        Self::with(engine, |_| {})
    }

    /// A server with changes to its start request.
    pub fn with(engine: &dyn Engine, otherwise: impl FnOnce(&mut StartRequest)) -> Self {
        let (place, world) = (Place::new(), World::new());
        let binary = binary_of(engine);
        let data = prepared(engine, &place, binary.as_deref());
        let mut request = place.start_request(&data, binary.as_deref());
        otherwise(&mut request);
        let server = engine.start(&request).unwrap();
        let theirs = Self { server, world, engine: engine.name(), _place: place };
        let prepare = theirs.load(&["--prepare"]);
        let words: Vec<&str> = prepare.iter().map(String::as_str).collect();
        let mut making = theirs.world.tare(&words);
        let password = theirs.server.target().password.as_str();
        if !password.is_empty() {
            making.env("TARE_PASSWORD", password);
        }
        let made = making.output().unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
        theirs
    }

    /// The address of the server, as options of `tare load`.
    fn place(&self) -> Vec<String> {
        match self.server.address() {
            Address::Socket(path) => vec!["--socket".to_owned(), path.display().to_string()],
            Address::Tcp(host, port) => {
                let user = self.server.target().user.clone();
                ["--host", host, "--port", &port.to_string(), "--user", &user].map(str::to_owned).to_vec()
            }
        }
    }

    /// The same, as keys of a study.
    fn keys(&self) -> String {
        match self.server.address() {
            Address::Socket(path) => format!("socket = \"{}\"", path.display()),
            Address::Tcp(host, port) => {
                format!("host = \"{host}\"\nport = {port}\nuser = \"{}\"", self.server.target().user)
            }
        }
    }

    pub fn load(&self, more: &[&str]) -> Vec<String> {
        let to = ["load", "point_select", "--engine", self.engine];
        let words = to.iter().chain(&TABLES).map(ToString::to_string).chain(self.place());
        words.chain(more.iter().map(ToString::to_string)).collect()
    }

    /// The current affinity of every thread of the server.
    pub fn affinities(&self) -> BTreeMap<ThreadRef, CpuSet> {
        let sut = SystemUnderTest::running(Some(self.server.pid().cast_signed()));
        let threads = sut.threads().unwrap().into_iter();
        threads.filter_map(|thread| Some((thread, affinity_of(thread).ok()?))).collect()
    }

    /// The owner binds two of the server's threads; this affinity must be restored.
    pub fn owner_binds_some(&self) -> BTreeMap<ThreadRef, CpuSet> {
        let last = Machine::this().unwrap().pus.last().unwrap().os_index;
        let own = self.server.pid().cast_signed();
        let others: Vec<ThreadRef> = self.affinities().into_keys().filter(|thread| thread.tid != own).collect();
        for thread in others.iter().take(2) {
            bind_thread(*thread, &CpuSet::from(last)).unwrap();
        }
        self.affinities()
    }

    /// Existing threads must have their earlier affinity; new threads must have that of the first thread.
    pub fn assert_as_before(&self, before: &BTreeMap<ThreadRef, CpuSet>, when: &str) {
        let first = before[&ThreadRef::main_of(self.server.pid().cast_signed())].clone();
        for (thread, now) in self.affinities() {
            assert_eq!(now, *before.get(&thread).unwrap_or(&first), "{when}: {thread}");
        }
        assert!(self.server.connect().is_ok(), "{when}: it goes on");
    }

    pub fn study(&self, more: &str) -> String {
        self.world.study(&format!(
            "name = \"theirs\"\n[engine]\nname = \"{}\"\n{}\n[workload]\nrows = 500\nthreads = 2\n\
             [sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\nsample_s = 0.2\n{more}",
            self.engine,
            self.keys()
        ))
    }

    /// Runs a command with the password in its environment: no other process may have it there or in its arguments.
    pub fn run_hides(&self, args: &[&str], secret: &str) {
        let mut run = self.world.tare(args).env("TARE_PASSWORD", secret).stderr(Stdio::piped()).spawn().unwrap();
        let given = run.id();
        let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let (mut looks, mut trials_seen) = (0, 0);
        while run.try_wait().unwrap().is_none() {
            for pid in self.world.processes().into_iter().filter(|pid| *pid != given) {
                for list in ["cmdline", "environ"] {
                    let found = text(&std::fs::read(format!("/proc/{pid}/{list}")).unwrap_or_default());
                    // A forked child that has not yet called exec still shows the arguments of its parent.
                    let forked = line(pid) == line(given) || line(pid).is_empty();
                    assert!(forked || !found.contains(secret), "{list} of {pid}: {}", text(&line(pid)));
                    trials_seen += usize::from(found.contains("--parent"));
                }
            }
            looks += 1;
            std::thread::sleep(Duration::from_millis(50));
        }
        let ended = run.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", text(&ended.stderr));
        assert!(looks > 10 && trials_seen > 0, "{looks} looks, {trials_seen} at trials");
    }

    /// No file of this world contains the password except the one that the user put it in.
    pub fn nothing_holds(&self, secret: &str, but: &Path) {
        let reported = Command::new("grep").args(["-rlF", secret]).arg(self.world.directory.path()).output().unwrap();
        assert_eq!(
            text(&reported.stdout).lines().collect::<Vec<_>>(),
            [but.to_str().unwrap()],
            "{}",
            text(&reported.stderr)
        );
    }

    /// The first kill must hit a run that has bound a thread.
    pub fn wait_until_bound(&self, run: &mut std::process::Child) {
        while !self.world.path("state/affinities.jsonl").exists() {
            assert!(run.try_wait().unwrap().is_none(), "it ended without binding a thread");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills all processes of tare, but none of the server's owner.
    pub fn kill_tare(&self) {
        let is_tare = |pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "tare"
        };
        kill_at_once(self.world.processes().into_iter().filter(is_tare));
    }
}

pub fn engines() -> [&'static dyn Engine; 3] {
    [&Mariadb, &Mysql, &Postgresql]
}

/// Connections on the last CPU, helpers and clients on the first.
pub fn placed() -> String {
    let last = Machine::this().unwrap().pus.last().unwrap().os_index;
    format!("[placement]\nclient = \"cpus:0\"\nserver = \"cpus:{last}\"\nbackground = \"cpus:0\"\nbind = \"thread\"\n")
}
