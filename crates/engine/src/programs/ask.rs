//! Runs a program for its answer (`--version`, `--help`). It may be any program, so time and output are limited.

use crate::process::before_exec::{Before, before_exec, clean_environment};
use crate::process::guard::interrupted;
use crate::process::leftovers::Registration;
use crate::process::process_tree::ProcessTree;
use crate::{Binary, EngineError};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_cpuset::{ThreadRefused, to_raise};

/// Time limit for an answer; a server on a cold disk usually takes a second.
const DEADLINE: Duration = Duration::from_secs(10);
/// Time between two checks for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Limit on the size of an answer, bytes; the longest known, `mysqld --verbose --help`, has 160 KiB.
const LIMIT: usize = 4 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub program: &'a Path,
    pub arguments: &'a [&'a str],
    pub libraries: Option<&'a str>,
    /// Whether its standard error is part of the answer.
    pub with_errors: bool,
}

impl<'a> Question<'a> {
    /// What it prints on standard output when it is called with these arguments.
    pub(crate) fn new(program: &'a Path, arguments: &'a [&'a str]) -> Self {
        Self { program, arguments, libraries: None, with_errors: false }
    }
}

static LISTED: OnceLock<PathBuf> = OnceLock::new();

/// Registers in this state directory the programs that this process runs for an answer, so that after a kill of this
/// process the next start ends them.
pub fn list_questions_in(state_directory: &Path) {
    let _ = LISTED.set(state_directory.to_owned());
}

/// A question, and the program file's device, inode, bytes, seconds and nanoseconds of its last change.
type QuestionOf = (PathBuf, [i128; 5], Vec<String>, Option<String>, bool);

/// Earlier answers in this process: planning a study asks the same of a server for every option that it sets.
static ANSWERED: Mutex<BTreeMap<QuestionOf, String>> = Mutex::new(BTreeMap::new());

/// None if there is no such file.
fn key(question: &Question<'_>) -> Option<QuestionOf> {
    let file = question.program.metadata().ok()?;
    let file =
        [file.dev().into(), file.ino().into(), file.size().into(), file.ctime().into(), file.ctime_nsec().into()];
    let arguments = question.arguments.iter().map(|word| (*word).to_owned()).collect();
    Some((question.program.to_owned(), file, arguments, question.libraries.map(str::to_owned), question.with_errors))
}

/// What the program prints until it ends; processes that it started are ended with it. While its file stays the same,
/// this process runs it only once per question.
pub(crate) fn ask(question: &Question<'_>) -> Result<String, EngineError> {
    let known = || ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    let requested = key(question);
    if let Some(answer) = requested.as_ref().and_then(|requested| known().get(requested).cloned()) {
        return Ok(answer);
    }
    // A plan may have thousands of questions: after an interruption the next program is not even started.
    let answer = EngineError::unless_interrupted().and_then(|()| ask_anew(question))?;
    known().extend(requested.map(|requested| (requested, answer.clone())));
    Ok(answer)
}

fn ask_anew(question: &Question<'_>) -> Result<String, EngineError> {
    let requested = question.arguments.join(" ");
    let unusable = |reason: String| EngineError::BinaryUnusable { path: question.program.to_owned(), reason };
    let cannot_run = |error: io::Error| match to_raise(&error) {
        Some(_) => EngineError::io("run", question.program, error),
        None => unusable(format!("cannot be run: {error}")),
    };
    // A name without a folder is searched in PATH alone.
    let here = question.program.file_name() == Some(question.program.as_os_str()) && question.program.is_file();
    let mut command = Command::new(question.program);
    let (stdout, writer) = io::pipe().map_err(cannot_run)?;
    let errors = match question.with_errors {
        true => Stdio::from(writer.try_clone().map_err(cannot_run)?),
        false => Stdio::null(),
    };
    command.args(question.arguments).stdin(Stdio::null()).stdout(writer).stderr(errors).process_group(0);
    clean_environment(&mut command);
    command.envs(question.libraries.map(|libraries| ("LD_LIBRARY_PATH", libraries)));
    let tree = ProcessTree::planned();
    // A user who only plans may have no state directory.
    let listed = LISTED.get().and_then(|state| Registration::begin(state, Vec::new(), &tree).ok());
    let groups = tree.begin(&mut command).map_err(cannot_run)?;
    before_exec(&mut command, Before { groups, ..Before::default() });
    let (answer, answered) = channel();
    // The thread reads to the end of the pipe. If nothing is started, dropping `command` closes the other end.
    let reader = Builder::new().spawn(move || drop(answer.send(read(stdout)))).map_err(ThreadRefused::from);
    let reader = reader.map_err(|refused| cannot_run(io::Error::other(refused)))?;
    let mut child = command.spawn().map_err(|error| {
        tree.end();
        match error.kind() == io::ErrorKind::NotFound && here {
            true => unusable(format!("is in no directory of PATH; found ./{}", question.program.display())),
            false => cannot_run(error),
        }
    })?;
    // This closes the writing ends of the pipe, which would keep it open.
    drop(command);
    let group = Pid::from_child(&child);
    let outcome = wait(&answered);
    // Processes that it started are ended too: a program behind a script would keep the pipe open.
    if kill_process_group(group, Signal::KILL) != Err(Errno::PERM) {
        let _ = child.wait();
    }
    tree.end();
    drop(listed);
    match outcome {
        Ok(Ok(bytes)) if bytes.len() > LIMIT => {
            Err(unusable(format!("prints more than {} MiB with {requested}: check that it is a server", LIMIT >> 20)))
        }
        Ok(Ok(bytes)) => {
            let _ = reader.join();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        Ok(Err(error)) => Err(unusable(format!("its answer to {requested} cannot be read: {error}"))),
        Err(_) => {
            EngineError::unless_interrupted()?;
            Err(unusable(format!(
                "does not answer {requested} within {} s: check that it is a server",
                DEADLINE.as_secs()
            )))
        }
    }
}

/// Waits for the answer until the deadline, or until this program is interrupted.
fn wait<T>(answered: &Receiver<T>) -> Result<T, RecvTimeoutError> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match answered.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline && !interrupted() => {}
            outcome => return outcome,
        }
    }
}

fn read(stdout: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stdout.take(LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Binary {
    /// What it prints when it is called with these arguments.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, EngineError> {
        ask(&Question { libraries: self.libraries.as_deref(), ..Question::new(&self.path, arguments) })
    }
}

/// What a program reports about itself, and the library folders that it needs for that, if it needs any.
pub(crate) fn self_reported(
    path: &Path,
    arguments: &[&str],
    candidates: &[PathBuf],
) -> Result<(String, Option<String>), EngineError> {
    let question = Question { with_errors: true, ..Question::new(path, arguments) };
    let text = ask(&question)?;
    if candidates.is_empty() || !text.contains("error while loading shared libraries") {
        return Ok((text, None));
    }
    let folders: Vec<String> = candidates.iter().map(|folder| folder.display().to_string()).collect();
    let libraries = folders.join(":");
    let text = ask(&Question { libraries: Some(&libraries), ..question })?;
    Ok((text, Some(libraries)))
}

/// The beginning of an answer, as long as an error message shows.
pub(crate) fn start(text: &str) -> String {
    text.trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_runs_once_for_its_version_until_its_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("server");
        let of = |version: u32| {
            let script = format!("#!/bin/sh\necho asked >> {}\necho {version}\n", folder.path().join("log").display());
            std::fs::write(&program, script).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let answers =
            || ["--version", "--version", "--help"].map(|word| ask(&Question::new(&program, &[word])).unwrap());
        let requested = || std::fs::read_to_string(folder.path().join("log")).unwrap().lines().count();
        of(1);
        assert_eq!((answers().concat().as_str(), requested()), ("1\n1\n1\n", 2));
        of(22);
        assert_eq!((answers().concat().as_str(), requested()), ("22\n22\n22\n", 4));
    }

    #[test]
    fn an_answer_comes_and_a_program_that_does_not_answer_or_says_too_much_is_named() {
        let shell = |script: &str| ask(&Question::new(Path::new("/bin/sh"), &["-c", script]));
        assert_eq!(shell("echo 1.2; echo no >&2").unwrap(), "1.2\n");
        let both = Question::new(Path::new("/bin/sh"), &["-c", "echo 1; echo $LD_LIBRARY_PATH >&2"]);
        let both = ask(&Question { with_errors: true, libraries: Some("/lib/own"), ..both }).unwrap();
        assert_eq!(both, "1\n/lib/own\n");
        let began = Instant::now();
        let endless = shell("yes").unwrap_err().to_string();
        assert!(endless.contains("more than 4 MiB") && began.elapsed() < DEADLINE, "{endless}");
        let hangs = shell("sleep 600 & wait").unwrap_err().to_string();
        assert!(hangs.contains("within 10 s"), "{hangs}");
        assert!(began.elapsed() < 3 * DEADLINE);
        assert!(ask(&Question::new(Path::new("/nonexistent"), &[])).unwrap_err().to_string().contains("cannot be run"));
    }
}
