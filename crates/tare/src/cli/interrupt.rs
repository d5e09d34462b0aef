//! SIGINT, SIGTERM and SIGHUP as flags that loops check: the first asks for an orderly end, the second for a fast one.
//! SIGHUP stays ignored if it was at the start (nohup), so that a run continues when its terminal is closed.

use super::{Exit, Problem};
use crate::run::Stop;
use procfs::process::Status;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::Duration;
use tare_cpuset::observe::parse;
use tare_cpuset::to_raise;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static AT_ONCE: AtomicBool = AtomicBool::new(false);
static LISTENER: OnceLock<()> = OnceLock::new();

/// Makes a write beyond the file size limit (`ulimit -f`) an error like that of a full disk: by default SIGXFSZ would
/// end the process before it restores settings. SIGCHLD must not stay ignored, as some supervisors leave it: the kernel
/// would then discard the exit status of every child. Child programs have the default action of both. No signal stays
/// blocked, as some supervisors leave it: neither a signal of the user nor that of a parent's death would arrive, here
/// and in child programs.
pub(crate) fn take_signals() {
    // SAFETY: the set is initialised by sigemptyset before it is read, and no old set is requested.
    unsafe {
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    // If a handler cannot be installed, the signal has the action that it had.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // Only then, because a handler interrupts system calls.
    if is_ignored(SIGCHLD) {
        let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
    }
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    parse::<Status>("/proc/self/status").is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}

/// Both flags; the first call installs the handlers. Settings are restored in either case.
pub(crate) fn stop() -> Result<Stop<'static>, Problem> {
    if LISTENER.get().is_none() {
        let failed =
            |e: io::Error| Problem::new(Exit::Machine, format!("cannot handle signals: {e}")).raised(to_raise(&e));
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP).map_err(failed)?;
        }
        let listen = move || {
            for _ in signals.forever() {
                if REQUESTED.swap(true, Ordering::Relaxed) {
                    AT_ONCE.store(true, Ordering::Relaxed);
                }
            }
        };
        Builder::new().name("signals".into()).spawn(listen).map_err(failed)?;
        let _ = LISTENER.set(());
        // From the first signal on, servers are stopped, and waits for them and for their answers end.
        tare_engine::interrupted_by(&REQUESTED);
        // Without a directory for the list, nothing that needs the list is started.
        let _ = crate::state::directory().map(|state| tare_engine::list_questions_in(&state));
    }
    Ok(Stop { requested: &REQUESTED, at_once: &AT_ONCE })
}

/// Runs `wait`, which does not check the flags, for instance a read of a line from the user. A signal returns the error
/// `Interrupted`; `wait` then goes on in a thread that ends with this process.
pub(crate) fn awaited<T: Send + 'static>(wait: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (send, receive) = channel();
    // After a signal the receiver no longer exists.
    Builder::new().name("awaited".into()).spawn(move || drop(send.send(wait())))?;
    loop {
        match receive.recv_timeout(Duration::from_millis(100)) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if !tare_engine::interrupted() => {}
            Err(_) => return Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

/// The output of a program that may run for any time; the program ends with this process.
pub(crate) fn output(mut command: Command) -> io::Result<Output> {
    tare_engine::dies_with_parent(&mut command);
    awaited(move || command.output())
}

/// `None` if a signal arrived meanwhile: an error that it caused is not reported.
pub(crate) fn unless_interrupted<T>(done: Result<T, Problem>) -> Result<Option<T>, Problem> {
    if tare_engine::interrupted() { Ok(None) } else { done.map(Some) }
}

/// The error for an action that a signal interrupted.
pub(crate) fn problem(while_doing: &str) -> Problem {
    Problem::new(Exit::Interrupted, format!("interrupted while {while_doing}"))
}

pub(crate) fn flag() -> Result<&'static AtomicBool, Problem> {
    stop().map(|stop| stop.requested)
}
