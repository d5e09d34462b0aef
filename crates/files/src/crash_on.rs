//! Crash points of programs that are built for tests. All processes with the same environment number them in one log.

use rustix::process::{Signal, getpid, kill_process};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The settings from the environment.
struct Plan {
    /// One line for each point that was reached: process and label.
    log: PathBuf,
    /// The number of the point at which the program crashes; `None` if points are only counted.
    at: Option<usize>,
    signal: Signal,
}

static PLAN: LazyLock<Option<Plan>> = LazyLock::new(|| {
    let log = std::env::var_os("TARE_CRASH_LOG")?.into();
    let at = std::env::var("TARE_CRASH_AT").ok().and_then(|number| number.parse().ok());
    let all = std::env::var_os("TARE_CRASH_WHOM").is_some_and(|whom| whom == "all");
    // A stopped process keeps the log locked, so no other process passes its next point, and the test kills all.
    Some(Plan { log, at, signal: if all { Signal::STOP } else { Signal::KILL } })
});

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, points of this thread are not counted.
pub(super) struct Silent;

impl Silent {
    pub(super) fn begin() -> Self {
        SILENT.set(true);
        Self
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        SILENT.set(false);
    }
}

pub(super) fn point(label: &str) {
    if SILENT.get() {
        return;
    }
    let Some(plan) = &*PLAN else { return };
    // A missed point would let the test pass without having tested it.
    let Ok((_locked, number)) = reach(plan, label) else { std::process::abort() };
    if plan.at == Some(number) {
        let _ = kill_process(getpid(), plan.signal);
        // Wait until the signal arrives.
        loop {
            std::thread::park();
        }
    }
}

/// Appends a line, and returns the locked log and the number of the line.
fn reach(plan: &Plan, label: &str) -> io::Result<(File, usize)> {
    let mut log = OpenOptions::new().read(true).append(true).create(true).open(&plan.log)?;
    log.lock()?;
    let number = BufReader::new(&log).lines().count() + 1;
    log.write_all(format!("{} {label}\n", std::process::id()).as_bytes())?;
    Ok((log, number))
}
