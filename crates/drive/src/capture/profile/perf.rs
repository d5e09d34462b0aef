//! `perf record` around the capture sample, `perf script` after it.

use super::super::place::{Captured, FOLDED_FILE, PROFILE_RECORDING, Place};
use super::fold;
use crate::capture::settings::CallGraph;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Unavailable, dies_with_parent, interrupted};
use tare_results::captures::{FLAME_GRAPH, FOLDED, PROFILE};

/// What perf says, for as long as it runs.
const LOG: &str = "perf.log";
/// Samples a second over all PUs: enough for shares of 1% within a tenth of it in 10 s.
const SAMPLES_PER_S: f64 = 1_000.0;
/// Samples in all, so that a long sample fills no disk: each carries up to 16 KiB of stack.
const SAMPLES: f64 = 30_000.0;
/// Bytes of stack in a sample. Of perf's own default of 8 KiB, half of MariaDB's call chains have no beginning.
const STACK_BYTES: u32 = 16_384;

pub(in super::super) struct Profile {
    perf: Child,
    pid: u32,
    scope: Scope,
    place: Place,
    frequency_hz: u64,
    call_graph: CallGraph,
}

impl Profile {
    /// Begins, and returns when samples are taken.
    pub fn begin(place: &Place, call_graph: CallGraph, pid: u32) -> Result<Self, Unavailable> {
        Self::begin_on(Scope::Pus, place, call_graph, pid)
            .or_else(|_| Self::begin_on(Scope::Threads, place, call_graph, pid))
    }

    fn begin_on(scope: Scope, place: &Place, call_graph: CallGraph, pid: u32) -> Result<Self, Unavailable> {
        let frequency_hz = frequency_hz(place.sample_s, std::thread::available_parallelism().map_or(1, usize::from));
        let log = place.folder.new_log(LOG).map_err(|e| Unavailable(format!("cannot write {LOG}: {e}")))?;
        let control = Control::new(place, "perf")?;
        let graph = match call_graph {
            CallGraph::Dwarf => format!("dwarf,{STACK_BYTES}"),
            CallGraph::FramePointers => "fp".to_owned(),
        };
        // Events are off until the control says so: attaching to hundreds of threads takes a while. No event is named:
        // perf takes cycles, and where there are none the CPU clock; without the kernel where it may not look there.
        let mut command = Command::new("perf");
        command
            .args(["record", "--delay", "-1", "--control", &control.argument()])
            .args(["-F", &frequency_hz.to_string(), "--call-graph", &graph, "--no-buildid", "-q"])
            .arg("-o")
            .arg(place.path(PROFILE_RECORDING))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        match scope {
            Scope::Pus => command.arg("-a"),
            Scope::Threads => command.args(["-p", &pid.to_string()]),
        };
        dies_with_parent(&mut command);
        let perf = command.spawn().map_err(|e| not_started(&e))?;
        let mut profile = Self { perf, pid, scope, place: place.clone(), frequency_hz, call_graph };
        match control.enable(&mut profile.perf) {
            Ok(()) => Ok(profile),
            Err(why) => {
                profile.kill();
                let said = std::fs::read_to_string(place.path(LOG)).unwrap_or_default();
                // What perf said is in the reason.
                place.remove(LOG);
                Err(refused(&said, why))
            }
        }
    }

    /// Ends the recording; the data is complete afterwards.
    pub fn end(&mut self) -> Result<(), Unavailable> {
        let ended = end(&mut self.perf);
        if ended.is_err() {
            self.kill();
        }
        ended
    }

    fn kill(&mut self) {
        // It may have ended by itself in the meantime.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
        // The recording of a killed perf has no index.
        self.place.remove(PROFILE_RECORDING);
    }

    /// Call chains, table and flame graph from the recording, which is then removed: it is large, and readable on this
    /// machine only.
    pub fn finish(self, captured: &mut Captured) {
        let place = &self.place;
        let made = fold::fold(place, PROFILE_RECORDING, self.pid);
        place.remove(PROFILE_RECORDING);
        place.remove(LOG);
        let made = match made {
            Ok(made) => made,
            Err(e) => {
                place.remove(FOLDED_FILE);
                captured.missing.insert(PROFILE.to_owned(), e.to_string());
                return;
            }
        };
        let mut table = fold::table(&made);
        table.frequency_hz = self.frequency_hz;
        table.call_graph = if self.call_graph == CallGraph::Dwarf { "dwarf" } else { "fp" }.to_owned();
        table.scope = if self.scope == Scope::Pus { "pus" } else { "threads" }.to_owned();
        if !table.kernel {
            captured.missing.insert(format!("{PROFILE}.kernel"), no_kernel());
        }
        captured.files.insert(FOLDED.to_owned(), place.relative(FOLDED_FILE));
        place.write_json(captured, PROFILE, "profile.json", &table);
        match fold::flame_graph(&made) {
            Ok(svg) => place.write(captured, FLAME_GRAPH, "profile.svg", &svg),
            Err(e) => drop(captured.missing.insert(FLAME_GRAPH.to_owned(), e.to_string())),
        }
    }
}

impl Drop for Profile {
    /// A trial that fails in its capture sample leaves no perf behind.
    fn drop(&mut self) {
        if matches!(self.perf.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// On every PU, whatever runs there; the server's are picked out afterwards. Needs root, CAP_PERFMON or
    /// kernel.perf_event_paranoid of 0 or less.
    Pus,
    /// In the server's threads: events move with every context switch, which halves the throughput of a server that
    /// switches for every statement.
    Threads,
}

fn frequency_hz(sample_s: f64, pus: usize) -> u64 {
    let all = SAMPLES_PER_S.min(SAMPLES / sample_s.max(0.1));
    ((all / pus as f64) as u64).clamp(5, 997)
}

const INSTALL: &str = "sudo apt-get install linux-perf (Debian), sudo apt-get install linux-tools-generic (Ubuntu)";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

pub(in super::super) fn not_started(error: &io::Error) -> Unavailable {
    Unavailable(match error.kind() {
        ErrorKind::NotFound => format!("perf is not installed: {INSTALL}"),
        _ => format!("perf cannot be started: {error}"),
    })
}

pub(in super::super) fn refused(said: &str, why: &str) -> Unavailable {
    let lower = said.to_lowercase();
    if ["perf_event_paranoid", "permission", "not permitted", "access to performance"].iter().any(|w| lower.contains(w))
    {
        let now = std::fs::read_to_string(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
        return Unavailable(format!(
            "perf is not permitted: kernel.perf_event_paranoid is {now}; allow it with: \
             sudo sysctl kernel.perf_event_paranoid=1 (a container may need CAP_PERFMON as well)"
        ));
    }
    if lower.contains("not found for the running kernel") || lower.contains("linux-tools-") {
        return Unavailable(format!("perf is installed for another kernel only: {INSTALL}"));
    }
    if lower.contains("unknown option") || lower.contains("usage: perf record") {
        return Unavailable("perf is too old: 5.10 or newer knows --control".to_owned());
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    Unavailable(format!("perf did not record, {why}: {}", lines.join(" ")))
}

pub(super) fn no_kernel() -> String {
    let now = std::fs::read_to_string(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    format!(
        "the profile is without the kernel: kernel.perf_event_paranoid is {now}; allow it with: \
         sudo sysctl kernel.perf_event_paranoid=1"
    )
}

/// How long perf may take to attach to all threads, and to write what it has.
const PATIENCE: Duration = Duration::from_secs(30);

/// The two named pipes by which perf is told to begin, and says that it has.
pub(in super::super) struct Control {
    command: PathBuf,
    answer: PathBuf,
    pipes: [File; 2],
}

impl Control {
    /// Makes them; `name` begins their names.
    pub fn new(place: &Place, name: &str) -> Result<Self, Unavailable> {
        let names = ["control", "answer"].map(|end| format!("{name}.{end}"));
        let [command, answer] = [place.path(&names[0]), place.path(&names[1])];
        let made = || -> io::Result<[File; 2]> {
            for (path, name) in [&command, &answer].into_iter().zip(&names) {
                // Of an earlier attempt that was killed.
                place.remove(name);
                mknodat(CWD, path.as_path(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            }
            // For reading and writing, so that opening waits for no one.
            let open =
                |path: &Path| OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
            Ok([open(&command)?, open(&answer)?])
        };
        let pipes = made().map_err(|e| Unavailable(format!("cannot make perf's control pipes: {e}")))?;
        Ok(Self { command, answer, pipes })
    }

    pub fn argument(&self) -> String {
        format!("fifo:{},{}", self.command.display(), self.answer.display())
    }

    /// Tells perf to begin and waits for its answer.
    pub fn enable(&self, perf: &mut Child) -> Result<(), &'static str> {
        let [mut command, mut answer] = [&self.pipes[0], &self.pipes[1]];
        command.write_all(b"enable\n").map_err(|_| "its control pipe is closed")?;
        let deadline = Instant::now() + PATIENCE;
        let mut said = [0; 16];
        while Instant::now() < deadline {
            match answer.read(&mut said) {
                Ok(read) if said[..read].starts_with(b"ack") => return Ok(()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Err("its answer cannot be read"),
            }
            if !matches!(perf.try_wait(), Ok(None)) {
                return Err("it ended at once");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("it did not begin")
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // perf has them open; their names are not needed any more.
        let _ = std::fs::remove_file(&self.command);
        let _ = std::fs::remove_file(&self.answer);
    }
}

/// Has a perf end its recording; the data is complete afterwards.
pub(in super::super) fn end(perf: &mut Child) -> Result<(), Unavailable> {
    if let Some(pid) = Pid::from_raw(perf.id().cast_signed()) {
        // Already gone is as good as told.
        let _ = kill_process(pid, Signal::INT);
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && !interrupted() {
        match perf.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(e) => return Err(Unavailable(format!("cannot wait for perf: {e}"))),
        }
    }
    Err(Unavailable(format!("perf did not end within {} s", PATIENCE.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_and_long_samples_are_sampled_more_rarely() {
        assert_eq!(frequency_hz(10.0, 2), 500);
        assert_eq!(frequency_hz(10.0, 8), 125);
        assert_eq!(frequency_hz(60.0, 8), 62);
        assert_eq!(frequency_hz(10.0, 1024), 5);
        assert_eq!(frequency_hz(0.0, 1), 997);
    }

    #[test]
    fn every_refusal_names_what_changes_it() {
        let absent = not_started(&io::Error::from(ErrorKind::NotFound)).to_string();
        assert!(absent.contains("apt-get install linux-perf"), "{absent}");
        let paranoid = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
                        Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open";
        let refused_words = refused(paranoid, "it ended at once").to_string();
        assert!(refused_words.contains("sysctl kernel.perf_event_paranoid=1"), "{refused_words}");
        let old = refused("Error: unknown option `control'\n\n Usage: perf record", "it ended at once").to_string();
        assert!(old.contains("5.10"), "{old}");
        let other = refused("WARNING: perf not found for the running kernel 6.1.0\n", "x").to_string();
        assert!(other.contains("another kernel"), "{other}");
        let rest = refused("\n  something else\n", "it ended at once").to_string();
        assert_eq!(rest, "perf did not record, it ended at once: something else");
    }
}
