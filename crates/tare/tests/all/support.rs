//! Shared by whole-program tests: runs the program in a world of its own.

use crate::engines::support::shared_cache;
use crate::initialised;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tare_cpuset::{ThreadRef, affinity_of, bind_thread};
use tare_engine::{DataDirectory, Engine, Server, StartRequest};
use tare_files::LogFile;
use tempfile::TempDir;

/// Options for studies that are not started by `run`: tests disturb each other.
pub const QUIET: [&str; 4] = ["--set", "sampling.steal_limit=off", "--set", "sampling.foreign_cpu_limit=off"];

/// A private state, cache, lock and run directory, so that tests run at the same time and leave nothing.
pub struct World {
    /// Prepared data that this world leaves to other tests.
    left: Option<initialised::Left>,
    /// Removed with its content at the end of the test.
    pub directory: TempDir,
}

impl World {
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        for name in ["state", "cache", "lock", "run"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        initialised::know(Path::new(env!("CARGO_BIN_EXE_tare")), &directory.path().join("cache"));
        Self { left: None, directory }
    }

    /// A world that shares prepared data with other tests, if its preparation is not what is tested.
    pub fn sharing() -> Self {
        let world = Self::new();
        Self { left: Some(initialised::Left(world.path("cache"))), ..world }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn tare(&self, args: &[&str]) -> Command {
        let (cache, words) = (self.path("cache"), self.named_by(args));
        if self.left.is_some() {
            initialised::lend(&cache, &words);
        }
        initialised::link_into(&cache, &words);
        let mut command = self.command(env!("CARGO_BIN_EXE_tare"));
        command.args(args);
        // Tests run at the same time and disturb each other; tests of disturbance set a limit themselves.
        let asks = args.iter().any(|arg| ["--resume", "--shard"].contains(arg) || arg.contains("_limit"));
        if args.first() == Some(&"run") && !asks {
            command.args(QUIET);
        }
        command
    }

    /// A program in this world, with tare's directories below it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.directory.path())
            .env("TARE_STATE_DIR", self.path("state"))
            .env("TARE_CACHE_DIR", self.path("cache"))
            .env("TARE_LOCK_DIR", self.path("lock"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    /// `tare` in this world, started by another program with the given words.
    pub fn behind(&self, words: &[&str], args: &[&str]) -> Command {
        let (tare, mut command) = (self.tare(args), self.command(words[0]));
        command.args(&words[1..]).arg(tare.get_program()).args(tare.get_args());
        command
    }

    /// The arguments, and the content of studies among them.
    fn named_by(&self, args: &[&str]) -> String {
        let studies = args.iter().filter(|arg| arg.ends_with(".toml"));
        let texts = studies.filter_map(|study| std::fs::read_to_string(self.path(study)).ok());
        args.iter().map(|arg| (*arg).to_owned()).chain(texts).collect()
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.tare(args).output().expect("tare runs")
    }

    /// Starts `tare` and ignores its output.
    pub fn begin(&self, args: &[&str]) -> Child {
        self.tare(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tare runs")
    }

    /// Runs `tare`, which must exit with `code`; returns standard output and standard error.
    pub fn exits(&self, code: i32, args: &[&str]) -> (String, String) {
        let output = self.output(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "tare {args:?}\n{out}\n{err}");
        (out, err)
    }

    /// Ids of processes of this world: in its directory, or with its path on their command line.
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

    /// Checks that nothing of this world runs, and that no private data or socket is left.
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

    pub fn study(&self, text: &str) -> String {
        let path = self.path("study.toml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// The directory of builds and of the files from `scripts/setup test`.
pub fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Joins lines, which are broken at the width of the terminal.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|e| Some(e.ok()?.file_name().to_str()?.to_owned())).collect()
}

/// A parsed document; one that names its schema conforms to it.
pub fn json(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    if let Some(name) = document["schema"].as_str() {
        conforms(&document, name);
    }
    document
}

/// Checks a document against the schema that it names: names, types, and required fields.
fn conforms(document: &Value, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(format!("{name}.json"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for required in schema["required"].as_array().unwrap() {
        assert!(document.get(required.as_str().unwrap()).is_some(), "{name} has no {required}: {document}");
    }
    for (key, value) in document.as_object().unwrap() {
        // Any command may fail after it has results.
        if key == "error" && value.is_object() {
            continue;
        }
        let wanted = &schema["properties"].get(key).unwrap_or_else(|| panic!("{name}: {key} is in no schema"));
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let fits = match (wanted.get("const"), wanted.get("type")) {
            (Some(only), _) => only == value,
            (None, Some(Value::Array(kinds))) => kinds.iter().any(|one| one == kind),
            (None, Some(one)) => one == kind,
            (None, None) => true,
        };
        assert!(fits, "{name}: {key} is {value}, and not {wanted}");
    }
}

/// The lines of `trials.jsonl`.
pub fn trials(results: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(results.join("trials.jsonl")).unwrap_or_default();
    text.lines().map(json).collect()
}

pub fn wait_for_trials(results: &Path, count: usize) {
    // The last line may not be written to its end.
    let text = || std::fs::read_to_string(results.join("trials.jsonl")).unwrap_or_default();
    wait_until(&format!("{count} trials"), 60, || text().matches('\n').count() >= count);
}

pub fn wait_until(what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {seconds} s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How a setting was verified, according to a trial's record.
pub fn verified(record: &Value, factor: &str) -> String {
    let setting = record["settings"].as_array().unwrap().iter().find(|setting| setting["factor"] == factor);
    setting.unwrap_or_else(|| panic!("{factor} in {record}"))["verified"].as_str().unwrap().to_owned()
}

pub fn script(path: &Path, lines: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A control group of the test's own, at the root of a hierarchy; removed on drop.
pub struct ControlGroup(PathBuf);

impl ControlGroup {
    /// A group with these settings, in version 1 of control groups or in version 2; `None` if this user cannot make
    /// one.
    pub fn new(controller: &str, one: &[(&str, &str)], two: &[(&str, &str)]) -> Option<Self> {
        let name = format!("tare-test-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        [(root.join(controller), one), (root.to_owned(), two)].into_iter().find_map(|(above, settings)| {
            let folder = above.join(&name);
            std::fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            settings.iter().all(|(file, text)| std::fs::write(group.0.join(file), text).is_ok()).then_some(group)
        })
    }

    /// The beginning of a command that enters it.
    pub fn enter(&self) -> [&str; 4] {
        ["sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", self.0.to_str().unwrap()]
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Sends a signal to a process; returns false if it has ended already.
pub fn send(pid: u32, signal: Signal) -> bool {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).is_ok()
}

/// Kills all processes with kill -9 as if at one moment. None may react to the end of another, as a trial does when its
/// run ends: all are stopped first, and children are killed before their parents, whose end would let them continue.
pub fn kill_at_once(pids: impl IntoIterator<Item = u32>) {
    let mut pids: Vec<u32> = pids.into_iter().collect();
    pids.sort_unstable_by_key(|pid| std::cmp::Reverse(*pid));
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &pids {
            send(*pid, signal);
        }
    }
}

/// The arguments of a process; empty for one that has ended.
pub fn words_of(pid: u32) -> Vec<String> {
    let line = text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    line.split_terminator('\0').map(str::to_owned).collect()
}

/// The names of its threads; none for a process that has ended.
pub fn thread_names(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).collect()
}

pub fn parent_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Processes of this machine with this entry, `NAME=value`, in their environment.
pub fn with_variable(variable: &str) -> Vec<u32> {
    let all = names(Path::new("/proc")).into_iter().filter_map(|name| name.parse::<u32>().ok());
    all.filter(|id| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    })
    .collect()
}

/// Uses a CPU half of the time: that disturbs every measurement, and leaves some time to other tests.
pub fn busy() -> Ended {
    let half = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.02; done";
    Ended(Command::new("sh").args(["-c", half]).spawn().unwrap())
}

/// A process that ends with the test, even if the test fails.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Starts a server with an empty database that belongs to the test and not to the program; the embedded engine is this
/// build. It works on a copy of data that tests share.
pub fn server_beside(world: &World, engine: &dyn Engine) -> Box<dyn Server> {
    let binary = (engine.name() == "sqlite").then(|| PathBuf::from(env!("CARGO_BIN_EXE_tare")));
    let cache = shared_cache().unwrap_or_else(|| world.path("cache"));
    let prepared = initialised::empty(engine, binary.clone(), &cache, world.directory.path());
    let data = DataDirectory::CopyOf { prepared, at: world.path("data") };
    let request = StartRequest::new(data, world.path("run/server"), LogFile::at(&world.path("server.log")).unwrap());
    engine.start(&StartRequest { binary, ..request }).unwrap()
}

/// Uses 76% of the first CPU until it is dropped; it is not a process of the run, and therefore foreign.
pub struct Hog(Arc<AtomicBool>);

impl Hog {
    pub fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        std::thread::spawn(move || {
            let own = ThreadRef::of_this_thread();
            let first = affinity_of(own).unwrap().first().unwrap();
            bind_thread(own, &first.into()).unwrap();
            while !flag.load(Ordering::Relaxed) {
                let clock = Instant::now();
                while clock.elapsed() < Duration::from_micros(7600) {
                    std::hint::spin_loop();
                }
                std::thread::sleep(Duration::from_micros(2400));
            }
        });
        Self(stop)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Random moments; a multiplicative generator is random enough here.
pub struct Moments(u64);

impl Moments {
    pub fn new() -> Self {
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
        println!("seed {seed}");
        Self(u64::from(seed) | 1)
    }

    pub fn below(&mut self, limit: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        limit.mul_f64((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}
