//! Crash points of programs that are built for tests: numbered in one log by all processes that inherit its name.

use rustix::process::{Signal, getpid, kill_process};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

/// What the environment asks for.
struct Plan {
    /// One line for each point that was reached: process and label.
    log: PathBuf,
    /// The number of the point that is the crash; none where they are only counted.
    at: Option<usize>,
    signal: Signal,
}

static PLAN: LazyLock<Option<Plan>> = LazyLock::new(|| {
    let log = std::env::var_os("TARE_CRASH_LOG")?.into();
    let at = std::env::var("TARE_CRASH_AT").ok().and_then(|number| number.parse().ok());
    let all = std::env::var_os("TARE_CRASH_WHOM").is_some_and(|whom| whom == "all");
    // Stopped, it keeps the log locked: no other process gets past its next point, and the test kills them all.
    Some(Plan { log, at, signal: if all { Signal::STOP } else { Signal::KILL } })
});

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, points of this thread are none.
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
    // A test that counted too few points would prove too much.
    let Ok((_locked, number)) = reach(plan, label) else { std::process::abort() };
    if plan.at == Some(number) {
        let _ = kill_process(getpid(), plan.signal);
        // Until the signal is there.
        loop {
            std::thread::park();
        }
    }
}

/// Adds a line, and returns its number with the log, locked.
fn reach(plan: &Plan, label: &str) -> io::Result<(File, usize)> {
    let mut log = OpenOptions::new().read(true).append(true).create(true).open(&plan.log)?;
    log.lock()?;
    let number = BufReader::new(&log).lines().count() + 1;
    log.write_all(format!("{} {label}\n", std::process::id()).as_bytes())?;
    Ok((log, number))
}
