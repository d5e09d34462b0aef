//! Reads untrusted descriptions of machines in a child process, because reading one may crash, hang or exhaust memory.

use super::hwloc::{MachineError, Refused, parse_xml};
use super::model::{Machine, Origin};
use rustix::fs::{MemfdFlags, OFlags, memfd_create};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long reading a description may take. A machine with 2,000 CPUs takes 0.1 s.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Size limit of a file. A machine with 2,000 CPUs takes 2 MB.
const FILE_BYTES: u64 = 64 << 20;

/// Limit on the PUs of a described machine: Linux supports no more of them on any kind of processor.
const MOST_PUS: usize = 8192;

/// The signal of a failed assertion.
const SIGABRT: i32 = Signal::ABORT.as_raw();

/// How often the child is checked for its end.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The program that reads descriptions in a child process: it calls [`TopologyReader::answer`] and exits.
#[derive(Debug, Clone)]
pub struct TopologyReader {
    program: PathBuf,
    arguments: Vec<OsString>,
    time_limit: Duration,
}

impl TopologyReader {
    /// A program with the arguments that make it call [`Self::answer`]. The description is appended to the arguments.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments, time_limit: TIME_LIMIT }
    }

    /// For the child process: reads a synthetic description, or without one the XML on standard input, and writes the
    /// machine to standard output. The process must do nothing else, because its limits of memory (1 GiB), CPU time
    /// (10 s) and output size are lowered permanently. It is killed when its parent ends.
    ///
    /// # Errors
    /// When the limits cannot be set, the input is not text, or the answer cannot be written.
    pub fn answer(description: Option<&str>) -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        limit_self(Resource::As, MEMORY_BYTES)?;
        limit_self(Resource::Cpu, CPU_S)?;
        limit_self(Resource::Fsize, ANSWER_BYTES)?;
        limit_self(Resource::Core, 0)?;
        let answer: Answer = match description {
            Some(description) => Machine::synthetic(description).map_err(|_| Refused::Invalid),
            None => {
                let mut xml = Vec::new();
                io::stdin().lock().read_to_end(&mut xml)?;
                String::from_utf8(xml).map_err(|_| Refused::Invalid).and_then(|xml| parse_xml(&xml))
            }
        };
        let text = serde_json::to_vec(&answer)?;
        let mut output = io::stdout().lock();
        output.write_all(&text)?;
        output.flush()
    }

    /// A machine from an hwloc XML file. The file is opened and checked here, so that a pipe or device cannot block.
    ///
    /// # Errors
    /// When the file cannot be read or is invalid, or its reader fails.
    pub fn xml(&self, path: &Path) -> Result<Machine, MachineError> {
        let unreadable = |source| MachineError::XmlUnreadable { path: path.to_owned(), source };
        let nonblock = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
        let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        if metadata.len() > FILE_BYTES {
            let reason = format!("it has {} MiB, expected at most {}", metadata.len() >> 20, FILE_BYTES >> 20);
            return Err(unreadable(io::Error::other(reason)));
        }
        let failed = |reason| MachineError::Reader { what: path.display().to_string(), reason };
        let machine = self.ask(file.into(), None).map_err(failed)?.map_err(|refused| refused.of_file(path))?;
        few_enough(machine.pu_count(), || path.display().to_string())?;
        Ok(Machine { origin: Origin::Xml(path.display().to_string()), ..machine })
    }

    /// A machine from an hwloc synthetic description.
    ///
    /// # Errors
    /// When the description is invalid, or its reader fails.
    pub fn synthetic(&self, description: &str) -> Result<Machine, MachineError> {
        // An argument of a program cannot contain a NUL.
        if description.contains('\0') {
            return Err(MachineError::Synthetic { description: description.to_owned() });
        }
        few_enough(pus_of(description), || format!("{description:?}"))?;
        let failed = |reason| MachineError::Reader { what: format!("{description:?}"), reason };
        let refused = |_: Refused| MachineError::Synthetic { description: description.to_owned() };
        let machine = self.ask(Stdio::null(), Some(description)).map_err(failed)?.map_err(refused)?;
        few_enough(machine.pu_count(), || format!("{description:?}")).map(|()| machine)
    }

    /// The answer of the child, or why there is none.
    fn ask(&self, input: Stdio, description: Option<&str>) -> Result<Answer, String> {
        let reported = |e: io::Error| format!("cannot start {}: {e}", self.program.display());
        let mut answer = File::from(memfd_create("machine", MemfdFlags::CLOEXEC).map_err(|e| reported(e.into()))?);
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // After "--", a description is never parsed as an option.
        command.args(description.map(|text| ["--", text]).into_iter().flatten());
        command.stdin(input).stdout(answer.try_clone().map_err(reported)?).stderr(Stdio::null());
        let status = self.ended(command.spawn().map_err(reported)?)?;
        if !status.success() {
            return Err(ending(status));
        }
        let mut text = String::new();
        answer.rewind().map_err(reported)?;
        answer.take(ANSWER_BYTES).read_to_string(&mut text).map_err(reported)?;
        serde_json::from_str(&text).map_err(|e| format!("the process that reads it returned no machine: {e}"))
    }

    fn ended(&self, mut child: Child) -> Result<ExitStatus, String> {
        let began = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if began.elapsed() < self.time_limit => thread::sleep(LOOK_EVERY),
                outcome => {
                    // If this fails, the child has already ended.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(match outcome {
                        Err(e) => format!("waiting for the process that reads it failed: {e}"),
                        Ok(_) => format!("reading it took longer than {:?}", self.time_limit),
                    });
                }
            }
        }
    }
}

fn few_enough(pus: usize, what: impl FnOnce() -> String) -> Result<(), MachineError> {
    if pus > MOST_PUS { Err(MachineError::TooManyPus { what: what(), most: MOST_PUS }) } else { Ok(()) }
}

/// Number of PUs in a synthetic description, whose levels multiply: counted before hwloc makes the objects, which takes
/// time with the square of their number. 1 for what is not a number here; hwloc parses it.
fn pus_of(description: &str) -> usize {
    let mut depth = 0_usize;
    // Attributes in parentheses and memory in brackets are no levels.
    let levels = description.chars().filter(|letter| match letter {
        '(' | '[' => {
            depth += 1;
            false
        }
        ')' | ']' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    let count = |level: &str| level.rsplit(':').next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(1);
    levels.collect::<String>().split_whitespace().map(count).fold(1, usize::saturating_mul)
}

fn ending(status: ExitStatus) -> String {
    let how = match status.signal() {
        // hwloc's assertions only fail for damaged or inconsistent objects.
        Some(SIGABRT) => return "it is damaged: its objects are inconsistent".to_owned(),
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with {}", status.code().unwrap_or(-1)),
    };
    format!(
        "the process that reads it {how}: it is damaged, or needs more than {} GiB of memory or 10 s of CPU time",
        MEMORY_BYTES >> 30
    )
}

impl Machine {
    /// The value of the option `--topology`: an existing file, or any name that ends in `.xml`, is XML; anything else
    /// is a synthetic description. Both are read by the reader's process, never by this one.
    ///
    /// # Errors
    /// When the description is invalid, or its reader fails.
    pub fn describe(spec: &str, reader: &TopologyReader) -> Result<Self, MachineError> {
        let path = Path::new(spec);
        let named_xml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
        if named_xml || path.exists() { reader.xml(path) } else { reader.synthetic(spec) }
    }
}

/// The answer of the child, written as JSON.
type Answer = Result<Machine, Refused>;

/// Limit of the child's address space.
const MEMORY_BYTES: u64 = 1 << 30;

/// Largest answer: a malicious file of a few kilobytes can describe very many objects.
const ANSWER_BYTES: u64 = 64 << 20;

/// CPU time limit of the child, seconds, in case its parent cannot kill it.
const CPU_S: u64 = 10;

/// Limits this process permanently.
fn limit_self(resource: Resource, most: u64) -> io::Result<()> {
    let maximum = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_hangs_crashes_or_prints_garbage_is_reported_and_ended() {
        let began = Instant::now();
        for (command, reported) in [
            ("exec sleep 60", "longer than 300ms"),
            ("while :; do :; done", "longer than 300ms"),
            ("kill -SEGV $$", "signal 11"),
            ("exit 7", "ended with 7"),
            ("echo hello", "returned no machine"),
            ("exit 0", "returned no machine"),
        ] {
            // A shell command instead of a program that reads.
            let reader = TopologyReader::new("sh", ["-c", command]);
            let reader = TopologyReader { time_limit: Duration::from_millis(300), ..reader };
            let e = reader.synthetic("pu:1").unwrap_err();
            assert!(matches!(e, MachineError::Reader { .. }) && e.to_string().contains(reported), "{command}: {e}");
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let e = TopologyReader::new("/no/such/program", [""; 0]).synthetic("pu:1").unwrap_err();
        assert!(e.to_string().contains("cannot start /no/such/program"), "{e}");
    }
}
