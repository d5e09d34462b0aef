//! Runs the tool `perf`: starts, enables and ends it without leaving a process behind, and explains refusals.

use super::place::{Patience, Place};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, Signal, geteuid, getrlimit, kill_process, prlimit};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Take, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{Unavailable, dies_with_parent, interrupted};

/// Interval between checks for the end of the process and for a signal.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Bytes read of error messages and of the output of `perf stat`, which does not grow with the number of threads.
const LONGEST_MESSAGE: u64 = 64 << 10;
/// Bytes read per line of `perf script`, and in all: 30,000 samples of a deep stack are 400 MB. Function names come
/// from arbitrary libraries, so a line has no natural limit.
pub(super) const LINE: u64 = 16 << 10;
pub(super) const ALL: u64 = 1 << 30;
/// Limit of a file that perf writes, in bytes; beyond it the kernel ends perf. A recording has a smaller limit, at
/// which perf ends in good order; perf's messages go to a file too.
const WRITTEN: u64 = 1 << 30;
/// Limit of its memory, bytes. It reads the programs of all processes that ran, and the names of code that they made
/// themselves (`/tmp/perf-PID.map`); other users may have written these files.
const MEMORY: u64 = 4 << 30;
/// How long it may print nothing: any of these files may be a pipe.
const SILENCE: Duration = Duration::from_secs(60);
const INSTALL: &str = "sudo apt-get install linux-perf (Debian), sudo apt-get install linux-tools-generic (Ubuntu)";
/// Two permissions are needed: to use perf for all threads, and to read the list of tracepoints. The files of that
/// list belong to root and to the group given by the mount options.
const ALLOW_TRACEPOINTS: &str = "run tare as root, or allow it with: sudo sysctl kernel.perf_event_paranoid=-1 && sudo \
     mount -o remount,mode=750,gid=$(id -g) /sys/kernel/tracing";
/// Root without a permission is root of a container, or of a restricted service.
const ROOT_NEEDS: &str = "root needs CAP_PERFMON (in a container: docker run --cap-add PERFMON)";
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Levels of kernel.perf_event_paranoid that allow perf to observe the kernel, to sample all CPUs, and to read
/// tracepoints on all CPUs.
pub(super) const LOOK_INSIDE: i32 = 1;
pub(super) const ALL_CPUS: i32 = 0;
pub(super) const TRACEPOINTS: i32 = -1;

/// A running perf, and how long it may print nothing while it is read; killed on drop.
pub(super) struct Perf(Child, Duration);

impl Perf {
    /// Starts perf without input and with messages in English; the caller decides where the output goes.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Unavailable> {
        command.env("LC_ALL", "C").stdin(Stdio::null());
        dies_with_parent(command);
        let perf = command.spawn().map_err(|e| not_started(&e))?;
        // A process that the file size limit ends leaves no core file.
        for (what, most) in [(Resource::Fsize, WRITTEN), (Resource::Data, MEMORY), (Resource::Core, 0)] {
            let own = getrlimit(what);
            let current = own.current.map_or(most, |own| own.min(most));
            // The process may have ended already.
            let _ = prlimit(Some(Pid::from_child(&perf)), what, Rlimit { current: Some(current), ..own });
        }
        Ok(Self(perf, SILENCE))
    }

    pub(crate) fn script(recording: &Path, arguments: &[&str]) -> Result<Take<BufReader<Self>>, Unavailable> {
        let mut command = Command::new("perf");
        // Without --no-inline every address is looked up in the debug information, which takes minutes.
        command.args(["script", "--force", "--no-inline"]).args(arguments).arg("-i").arg(recording);
        let perf = Self::start(command.stdout(Stdio::piped()).stderr(Stdio::null()))?;
        Ok(BufReader::new(perf).take(ALL))
    }

    /// Makes perf end its recording; the data is complete afterwards.
    pub(crate) fn end(&mut self, patience: &Patience) -> Result<(), Unavailable> {
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::INT);
        }
        match patience.wait(Duration::from_millis(10), || self.0.try_wait().transpose()) {
            Some(Ok(_)) => Ok(()),
            Some(Err(e)) => Err(Unavailable(format!("cannot wait for perf: {e}"))),
            None => Err(Unavailable("perf did not end in time".to_owned())),
        }
    }

    pub(crate) fn kill(&mut self) {
        // It may have ended by itself in the meantime.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads perf's output until perf itself ends: a child of perf may keep the output open for longer, for instance where
/// perf is a script. A signal ends the reading too; a long silence is an error.
impl Read for Perf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        while !interrupted() {
            let ended = !matches!(self.0.try_wait(), Ok(None));
            let Some(output) = &mut self.0.stdout else { break };
            let wait = if ended { Timespec::default() } else { LOOK_EVERY };
            if poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&wait))? > 0 {
                return output.read(buffer);
            }
            if ended {
                break;
            }
            if began.elapsed() >= self.1 {
                let why = format!("it printed nothing for {} s", self.1.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, why));
            }
        }
        Ok(0)
    }
}

impl Drop for Perf {
    /// A trial that fails in its capture sample leaves no perf behind.
    fn drop(&mut self) {
        self.kill();
    }
}

/// A perf that records into a file. The file is removed on drop: it is large, and readable on this machine only.
pub(super) struct Recording {
    perf: Perf,
    place: Place,
    name: &'static str,
}

impl Recording {
    /// Runs perf with these arguments (`perf record` or another recording command), and returns when samples are
    /// taken. `level` is the value of kernel.perf_event_paranoid that allows it.
    pub(crate) fn begin(
        place: &Place,
        name: &'static str,
        arguments: &[&str],
        level: i32,
    ) -> Result<Self, Unavailable> {
        let log = format!("{name}.log");
        let complaints = place.folder.new_log(&log).map_err(|e| Unavailable(format!("cannot write {log}: {e}")))?;
        let control = Control::new(place, name)?;
        // Events stay off until the control pipe enables them: attaching to hundreds of threads takes a while.
        let mut command = Command::new("perf");
        command.args(arguments).args(["--delay", "-1", "--control", &control.argument(), "--no-buildid", "-q", "-o"]);
        command.arg(place.path(name)).stdout(Stdio::null()).stderr(complaints);
        let started = Perf::start(&mut command).and_then(|perf| {
            let mut recording = Self { perf, place: place.clone(), name };
            control
                .enable(&mut recording.perf, &place.patience)
                .map_err(|why| refused(&File::open(place.path(&log)).map(printed).unwrap_or_default(), why, level))?;
            Ok(recording)
        });
        // The reason contains perf's message.
        place.remove(&log);
        started
    }

    pub(crate) fn end(&mut self) -> Result<(), Unavailable> {
        self.perf.end(&self.place.patience)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.place.path(self.name)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.perf.kill();
        self.place.remove(self.name);
    }
}

/// Two named pipes: one enables perf, perf acknowledges on the other.
pub(super) struct Control {
    command: PathBuf,
    answer: PathBuf,
    pipes: [File; 2],
}

impl Control {
    /// Creates the pipes; their names begin with `name`.
    pub(crate) fn new(place: &Place, name: &str) -> Result<Self, Unavailable> {
        let names = ["control", "answer"].map(|end| format!("{name}.{end}"));
        let [command, answer] = [place.path(&names[0]), place.path(&names[1])];
        let made = || -> io::Result<[File; 2]> {
            for (path, name) in [&command, &answer].into_iter().zip(&names) {
                // Left by an earlier attempt that was killed.
                place.remove(name);
                mknodat(CWD, path.as_path(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            }
            // Opened for reading and writing, so that opening does not block.
            let open =
                |path: &Path| OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
            Ok([open(&command)?, open(&answer)?])
        };
        let pipes = made().map_err(|e| Unavailable(format!("cannot create perf's control pipes: {e}")))?;
        Ok(Self { command, answer, pipes })
    }

    pub(crate) fn argument(&self) -> String {
        format!("fifo:{},{}", self.command.display(), self.answer.display())
    }

    pub(crate) fn enable(&self, perf: &mut Perf, patience: &Patience) -> Result<(), &'static str> {
        let [mut command, mut answer] = [&self.pipes[0], &self.pipes[1]];
        command.write_all(b"enable\n").map_err(|_| "its control pipe is closed")?;
        let mut buffer = [0; 16];
        let begun = patience.wait(Duration::from_millis(5), || match answer.read(&mut buffer) {
            Ok(read) if buffer[..read].starts_with(b"ack") => Some(Ok(())),
            Err(e) if e.kind() != ErrorKind::WouldBlock => Some(Err("its answer cannot be read")),
            _ => (!matches!(perf.0.try_wait(), Ok(None))).then_some(Err("it ended at once")),
        });
        begun.unwrap_or(Err("it did not begin in time"))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // perf has them open; their names are not needed any more.
        let _ = std::fs::remove_file(&self.command);
        let _ = std::fs::remove_file(&self.answer);
    }
}

/// Reads perf's messages up to a limit. Read errors are ignored: the caller gets the part that was read.
pub(super) fn printed(from: impl Read) -> String {
    let mut printed = Vec::new();
    let _ = from.take(LONGEST_MESSAGE).read_to_end(&mut printed);
    String::from_utf8_lossy(&printed).into_owned()
}

/// Reads the next line of `perf script` into `line`, truncated if it is too long; None at the end.
pub(super) fn next_line<'a>(
    script: &mut Take<impl BufRead>,
    line: &'a mut Vec<u8>,
) -> io::Result<Option<Cow<'a, str>>> {
    line.clear();
    script.by_ref().take(LINE).read_until(b'\n', line)?;
    if line.len() as u64 == LINE && line.last() != Some(&b'\n') {
        script.skip_until(b'\n')?;
    }
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(line)))
}

pub(super) fn unreadable(error: io::Error) -> Unavailable {
    Unavailable(format!("perf script's output cannot be read: {error}"))
}

fn not_started(error: &io::Error) -> Unavailable {
    Unavailable(match error.kind() {
        ErrorKind::NotFound => format!("perf is not installed: {INSTALL}"),
        _ => format!("perf cannot be started: {error}"),
    })
}

/// The current value of kernel.perf_event_paranoid, and the command that sets it to `level`.
pub(super) fn advice(level: i32) -> String {
    let now = std::fs::read_to_string(PARANOID).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    format!("kernel.perf_event_paranoid is {now}; allow it with: sudo sysctl kernel.perf_event_paranoid={level}")
}

/// Explains from its messages why perf did not start; `level` as in [`advice`].
pub(super) fn refused(printed: &str, why: &str, level: i32) -> Unavailable {
    refused_to(printed, why, level, geteuid().is_root())
}

fn refused_to(printed: &str, why: &str, level: i32, is_root: bool) -> Unavailable {
    let lower = printed.to_lowercase();
    if ["trace events", "/tracing"].iter().any(|words| lower.contains(words)) {
        let allow = match is_root {
            true => format!("{ROOT_NEEDS} and a readable /sys/kernel/tracing"),
            false => ALLOW_TRACEPOINTS.to_owned(),
        };
        return Unavailable(format!(
            "perf may not read the scheduler's tracepoints: {allow}; capture.waits records what threads sleep in and \
             the callers, without perf"
        ));
    }
    if ["perf_event_paranoid", "permission", "not permitted", "access to performance"].iter().any(|w| lower.contains(w))
    {
        let advice = advice(level);
        return Unavailable(match is_root {
            true => format!("perf is not permitted: {ROOT_NEEDS}, or {advice}"),
            false => format!("perf is not permitted: {advice} (a container may need CAP_PERFMON as well)"),
        });
    }
    if lower.contains("not found for the running kernel") || lower.contains("linux-tools-") {
        return Unavailable(format!("perf is installed for another kernel only: {INSTALL}"));
    }
    if lower.contains("unknown option") || lower.contains("usage: perf record") {
        return Unavailable("perf is too old: 5.10 or newer knows --control".to_owned());
    }
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    Unavailable(format!("perf did not record, {why}: {}", lines.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_of_perf_names_its_remedy() {
        let absent = not_started(&io::Error::from(ErrorKind::NotFound)).to_string();
        assert!(absent.contains("apt-get install linux-perf"), "{absent}");
        let paranoid = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
                        Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open";
        for level in [1, 0, -1] {
            let refused = refused_to(paranoid, "it ended at once", level, false).to_string();
            assert!(refused.contains(&format!("sysctl kernel.perf_event_paranoid={level} ")), "{refused}");
        }
        let tracepoints = "event syntax error: 'sched:sched_switch'\n  \\___ can't access trace events\n\nError:\tNo \
                           permissions to read /sys/kernel/tracing/events/sched/sched_switch\n";
        // Nothing that root may do remains but a capability.
        for printed in [paranoid, tracepoints] {
            let refused = refused_to(printed, "it ended at once", -1, true).to_string();
            assert!(refused.contains(": root needs CAP_PERFMON") && !refused.contains("as root"), "{refused}");
        }
        let tracepoints = refused_to(tracepoints, "it ended at once", -1, false).to_string();
        for part in ["as root", "kernel.perf_event_paranoid=-1", "remount,mode=750,gid=$(id -g)", "capture.waits"] {
            assert!(tracepoints.contains(part), "{part}: {tracepoints}");
        }
        let old = refused("Error: unknown option `control'\n\n Usage: perf record", "it ended at once", 1).to_string();
        assert!(old.contains("5.10"), "{old}");
        let other = refused("WARNING: perf not found for the running kernel 6.1.0\n", "x", 1).to_string();
        assert!(other.contains("another kernel"), "{other}");
        let rest = refused("\n  something else\n", "it ended at once", 1).to_string();
        assert_eq!(rest, "perf did not record, it ended at once: something else");
    }

    /// If perf's child had been waited for, it would be a zombie (state Z), or have no entry in /proc any more.
    #[test]
    fn a_child_of_perf_does_not_delay_reading_its_output() {
        let mut script = Command::new("sh");
        script.args(["-c", "sleep 30 & echo $!"]).stdout(Stdio::piped());
        let of_another = printed(Perf::start(&mut script).unwrap());
        let state = std::fs::read_to_string(format!("/proc/{}/stat", of_another.trim())).unwrap();
        kill_process(Pid::from_raw(of_another.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        assert!(!state.contains(") Z "), "{state}");
    }

    #[test]
    fn a_perf_that_prints_nothing_is_given_up() {
        let mut script = Command::new("sh");
        let mut silent = Perf::start(script.args(["-c", "echo a; exec sleep 600"]).stdout(Stdio::piped())).unwrap();
        let mut read = [0; 8];
        assert_eq!(silent.read(&mut read).unwrap(), 2);
        silent.1 = Duration::from_millis(300);
        assert_eq!(silent.read(&mut read).unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_perf_that_exceeds_the_file_size_limit_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let mut script = Command::new("sh");
        // Sparse files, which use no disk space. The sleep lets the limit be set before the script writes.
        script
            .args(["-c", "sleep 0.3; ulimit -d >memory; truncate -s 512M few; truncate -s 2G many"])
            .current_dir(folder.path());
        let mut perf = Perf::start(script.stdout(Stdio::null()).stderr(Stdio::null())).unwrap();
        assert!(!perf.0.wait().unwrap().success(), "its output was not limited");
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
        let mut files: Vec<_> = files.map(|file| (file.file_name(), file.metadata().unwrap().len())).collect();
        files.sort();
        assert_eq!(files, [("few".into(), 512 << 20), ("many".into(), 0), ("memory".into(), 8)]);
        assert_eq!(std::fs::read_to_string(folder.path().join("memory")).unwrap(), format!("{}\n", MEMORY >> 10));
    }

    #[test]
    fn endless_output_and_endless_lines_are_truncated() {
        assert_eq!(printed(io::repeat(b'a')).len() as u64, LONGEST_MESSAGE);
        let long = "a".repeat(2 * LINE as usize);
        let mut script = io::Cursor::new(format!("{long}\nb\n\nc")).take(ALL);
        let mut line = Vec::new();
        let lines = std::iter::from_fn(|| next_line(&mut script, &mut line).unwrap().map(|text| text.len()));
        assert_eq!(lines.collect::<Vec<_>>(), [LINE as usize, 2, 1, 1]);
    }

    #[test]
    fn a_dropped_recording_leaves_no_perf_process_and_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let results = tare_files::Folder::open(folder.path(), tare_files::Trust::Anyone).unwrap().unwrap();
        let place = Place::make(&results, 0, 1, 1, 0.1).unwrap();
        let own = std::process::id().to_string();
        let begun = Recording::begin(&place, "perf.data", &["record", "-e", "cpu-clock:u", "-p", &own], 1);
        if let Ok(recording) = begun {
            let pid = recording.perf.0.id();
            assert!(recording.path().exists());
            drop(recording);
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "perf still runs");
        }
        place.remove_empty();
        assert!(std::fs::read_dir(folder.path().join("captures")).unwrap().next().is_none(), "files stayed");
    }
}
