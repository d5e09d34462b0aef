//! How a perf that has attached is told to begin, and says that it has.

use super::super::place::Place;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use tare_engine::{Unavailable, interrupted};

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
        let made = || -> std::io::Result<[File; 2]> {
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
