//! Passwords from the environment and from a prompt, kept in this process and hidden from child processes.

use super::{Exit, Problem, interrupt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::ErrorKind;
use std::sync::OnceLock;

const VARIABLE: &str = "TARE_PASSWORD";

static OF_ENVIRONMENT: OnceLock<Option<String>> = OnceLock::new();

/// Removes the password from the environment, so that no child inherits it. Call it first, before other threads exist.
pub(crate) fn leave_environment() {
    OF_ENVIRONMENT.get_or_init(|| {
        let password = std::env::var(VARIABLE).ok().filter(|password| !password.is_empty());
        // SAFETY: the program's first statement, before any other thread exists that could read the environment.
        unsafe { std::env::remove_var(VARIABLE) };
        password
    });
}

pub(crate) fn of_environment() -> Option<String> {
    OF_ENVIRONMENT.get().cloned().flatten()
}

/// The password: from a prompt without echo if `ask` is set, else from the environment.
pub(crate) fn password(ask: bool) -> Result<Option<String>, Problem> {
    if !ask {
        return Ok(of_environment());
    }
    // The prompt turns echo off; it must be turned on again even after a signal.
    let terminal = File::open("/dev/tty").ok();
    let before = terminal.as_ref().and_then(|terminal| tcgetattr(terminal).ok());
    let answer = interrupt::awaited(|| rpassword::prompt_password("password: "));
    if let (Some(terminal), Some(before)) = (terminal, before) {
        let _ = tcsetattr(terminal, OptionalActions::Now, &before);
    }
    answer.map(Some).map_err(|e| match e.kind() {
        ErrorKind::Interrupted => interrupt::problem("waiting for a password"),
        _ => Problem::new(Exit::Usage, format!("cannot ask for a password: {e}"))
            .expected("a terminal")
            .advice("set it in TARE_PASSWORD, ~/.my.cnf or ~/.pgpass"),
    })
}
