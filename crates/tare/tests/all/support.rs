//! What whole-program tests share: the executable in a world of its own.

#![allow(dead_code, reason = "each test program uses a part")]

use crate::engines::support::shared_cache;
use crate::initialised;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tare_engine::{DataDirectory, Engine, Server, StartRequest};
use tare_files::LogFile;
use tempfile::TempDir;

/// A private state, cache, lock and run directory, so that tests run side by side and leave nothing.
pub struct World {
    /// Removed with everything in it at the end of the test.
    pub directory: TempDir,
}

impl World {
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        for name in ["state", "cache", "lock", "run"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `tare` in this world.
    pub fn tare(&self, args: &[&str]) -> Command {
        initialised::link_into(&self.path("cache"), &self.named_by(args));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        command
            .args(args)
            .current_dir(self.directory.path())
            .env("TARE_STATE_DIR", self.path("state"))
            .env("TARE_CACHE_DIR", self.path("cache"))
            .env("TARE_LOCK_DIR", self.path("lock"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("XDG_CONFIG_HOME", self.path("config"));
        // Tests run side by side and disturb each other; those about that ask for a limit themselves.
        let asks = args.iter().any(|arg| ["--resume", "--shard"].contains(arg) || arg.contains("_limit"));
        if args.first() == Some(&"run") && !asks {
            command.args(["--set", "sampling.steal_limit=off", "--set", "sampling.foreign_cpu_limit=off"]);
        }
        command
    }

    /// The arguments, and the studies among them.
    fn named_by(&self, args: &[&str]) -> String {
        let studies = args.iter().filter(|arg| arg.ends_with(".toml"));
        let texts = studies.filter_map(|study| std::fs::read_to_string(self.path(study)).ok());
        args.iter().map(|arg| (*arg).to_owned()).chain(texts).collect()
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.tare(args).output().expect("tare runs")
    }

    /// Runs `tare`, which must exit with `code`; standard output and standard error.
    pub fn exits(&self, code: i32, args: &[&str]) -> (String, String) {
        let output = self.output(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "tare {args:?}\n{out}\n{err}");
        (out, err)
    }

    /// Ids of processes that work in this world: in its directory, or with its name on their command line.
    pub fn processes(&self) -> Vec<u32> {
        let here = self.directory.path().to_str().unwrap().to_owned();
        let ids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
        ids.filter(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let inside = std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(&here));
            !line.is_empty() && (inside || String::from_utf8_lossy(&line).contains(&here))
        })
        .collect()
    }

    /// Nothing of this world runs, and no private data or socket lies about.
    pub fn assert_clean(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(self.processes(), Vec::<u32>::new(), "processes left");
        assert_eq!(names(&self.path("run")), Vec::<String>::new(), "run directories left");
        let copies: Vec<String> = names(&self.path("cache")).into_iter().filter(|n| n.starts_with("trial-")).collect();
        assert_eq!(copies, Vec::<String>::new(), "copies of data left");
        let servers: Vec<String> =
            names(&self.path("state")).into_iter().filter(|n| n.starts_with("server-")).collect();
        assert_eq!(servers, Vec::<String>::new(), "registrations left");
    }

    /// Writes a study and returns its path.
    pub fn study(&self, text: &str) -> String {
        let path = self.path("study.toml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|e| Some(e.ok()?.file_name().to_str()?.to_owned())).collect()
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The lines of `trials.jsonl`.
pub fn trials(results: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(results.join("trials.jsonl")).unwrap_or_default();
    text.lines().map(json).collect()
}

/// Waits until there are `count` records.
pub fn wait_for_trials(results: &Path, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while trials(results).len() < count {
        assert!(Instant::now() < deadline, "no {count} trials within 60 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server with an empty database that is not the program's own but of the test; the embedded one is of this build.
/// What it works on is a copy of data that tests share.
pub fn server_beside(world: &World, engine: &dyn Engine) -> Box<dyn Server> {
    let binary = (engine.name() == "sqlite").then(|| PathBuf::from(env!("CARGO_BIN_EXE_tare")));
    let cache = shared_cache().unwrap_or_else(|| world.path("cache"));
    let prepared = initialised::empty(engine, binary.clone(), &cache, world.directory.path());
    let data = DataDirectory::CopyOf { prepared, at: world.path("data") };
    let request = StartRequest::new(data, world.path("run/server"), LogFile::at(&world.path("server.log")).unwrap());
    engine.start(&StartRequest { binary, ..request }).unwrap()
}
